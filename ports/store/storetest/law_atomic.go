package storetest

import (
	"context"
	"errors"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func atomicLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a transaction that fails leaves nothing behind", allOrNothing),
		promise("a fault of the function comes back as it is", faultsComeBack),
		promise("a panic rolls back and goes on", panicsRollBack),
		promise("an ended goroutine rolls back", exitsRollBack),
		promise("what belongs to nothing is refused at the commit", danglingRefused),
		promise("what it belongs to may be written after it", ordersFree),
		promise("a context that ends before the commit keeps nothing", endedKeepsNothing),
		promise("a context that has ended begins nothing", endedBeginsNothing),
	}
}

// everywhere writes something to every role.
func everywhere(ctx context.Context, r *store.Roles) error {
	for _, s := range samples() {
		if err := s.create(ctx, r, s.full(newMaker(5), "every")); err != nil {
			return err
		}
	}
	draft := audit.Draft{
		At: noon, Actor: audit.Actor{Kind: audit.ActorSystem, ID: "berth"}, Action: "tenant.created", Subject: "tenant/every",
	}
	handle := authorization.RestoreHandle(authorization.HandleRecord{Tenant: "every", Principal: "every"})
	change := authorization.Change{Revision: 1, Part: 1, Parts: 1, Kind: authorization.ChangeRoute, Route: "main"}
	_, once := r.Idempotency.Begin(ctx, store.Once{Scope: "every", Key: "every", CreatedAt: noon})
	return errors.Join(
		once, r.Queue.Add(ctx, placement.Waiting{Tenant: "every", Region: "eu", Since: noon}),
		r.Backups.Put(ctx, placement.Backup{Tenant: "every"}), r.Handles.Add(ctx, []*authorization.Handle{handle}),
		r.Routes.Create(ctx, route("every", "main")), r.Changes.Append(ctx, "every", []authorization.Change{change}),
		r.Nonces.Spend(ctx, ticket("every")), r.Audit.Append(ctx, draft), deliveryEverywhere(ctx, r),
	)
}

// nothing fails the law unless everywhere left nothing behind. It does so by succeeding, which ends the law.
func (k *kit) nothing(why string) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		backup, err := r.Backups.Get(ctx, "every")
		if err == nil && backup != nil {
			err = errors.New(why + ": there is a backup")
		}
		head, herr := r.Audit.Head(ctx)
		if herr == nil && head != (audit.Head{}) {
			herr = errors.New(why + ": there is an audit entry")
		}
		return errors.Join(err, herr, deliveryNowhere(ctx, r, why))
	})
	if err := k.do(everywhere); err != nil {
		k.Fatalf("%s: something was left behind: %v", why, err)
	}
}

func allOrNothing(k *kit) {
	boom := errors.New("boom")
	err := k.do(func(ctx context.Context, r *store.Roles) error {
		if err := everywhere(ctx, r); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		k.Fatalf("got %v", err)
	}
	k.nothing("a fault")
}

func faultsComeBack(k *kit) {
	mine := fault.New(fault.Conflict, "mine", "my own").Because(errors.New("cause"))
	for name, run := range map[string]func(body) error{"do": k.do, "see": k.see} {
		err := run(func(context.Context, *store.Roles) error { return mine })
		if e, ok := fault.As(err); !ok || e != mine {
			k.Fatalf("%s gave %v", name, err)
		}
	}
}

func panicsRollBack(k *kit) {
	func() {
		defer func() {
			if recover() != "boom" {
				k.Errorf("the panic did not go on")
			}
		}()
		err := k.do(func(ctx context.Context, r *store.Roles) error {
			if err := everywhere(ctx, r); err != nil {
				return err
			}
			panic("boom")
		})
		k.Errorf("the panic became %v", err)
	}()
	k.nothing("a panic")
}

func exitsRollBack(k *kit) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := k.do(func(ctx context.Context, r *store.Roles) error {
			if err := everywhere(ctx, r); err != nil {
				return err
			}
			exit()
			return nil
		})
		k.Errorf("the goroutine went on with %v", err)
	}()
	<-done
	k.nothing("an ended goroutine")
}

func danglingRefused(k *kit) {
	orphans := map[string]body{
		"lease": func(ctx context.Context, r *store.Roles) error {
			return r.Leases.Create(ctx, placement.NewLease("nobody"))
		},
		"credential": func(ctx context.Context, r *store.Roles) error {
			return r.Credentials.Create(ctx, credential("fp", "nobody"))
		},
		"reader": func(ctx context.Context, r *store.Roles) error { return r.Objects.Allow(ctx, "i", addressOf(nil)) },
		"handle": func(ctx context.Context, r *store.Roles) error {
			handle := authorization.RestoreHandle(authorization.HandleRecord{Tenant: "acme", Principal: "nobody"})
			return r.Handles.Add(ctx, []*authorization.Handle{handle})
		},
	}
	for name, orphan := range orphans {
		err := k.do(func(ctx context.Context, r *store.Roles) error {
			return errors.Join(addRegion(ctx, r, name), orphan(ctx, r))
		})
		k.refused(name, err, fault.Internal, "store_reference_missing")
		err = k.see(func(ctx context.Context, r *store.Roles) error { return second(r.Regions.Get(ctx, name)) })
		k.refused("what was written beside the "+name, err, fault.NotFound, "region_not_found")
	}
	k.mustDo(everywhere)
}

func ordersFree(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		handle := authorization.RestoreHandle(authorization.HandleRecord{Tenant: "acme", Principal: "p"})
		return errors.Join(
			r.Objects.Allow(ctx, "i", addressOf([]byte("later"))), r.Objects.Put(ctx, []byte("later")),
			r.Leases.Create(ctx, placement.NewLease("n")), r.Credentials.Create(ctx, credential("fp", "n")),
			r.Handles.Add(ctx, []*authorization.Handle{handle}), haveNode(ctx, r, "n"), havePrincipal(ctx, r, "acme", "p"),
		)
	})
}

func endedKeepsNothing(k *kit) {
	ctx, cancel := context.WithCancel(k.ctx)
	err := k.store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		if err := everywhere(ctx, r); err != nil {
			return err
		}
		cancel()
		return nil
	})
	k.refused("a commit", err, fault.Unavailable, "request_ended")
	if !errors.Is(err, context.Canceled) {
		k.Fatalf("the fault does not tell why: %v", err)
	}
	k.nothing("an ended context")
}

func endedBeginsNothing(k *kit) {
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	unwanted := func(context.Context, *store.Roles) error {
		k.Errorf("the function was called")
		return nil
	}
	_, beat := k.store.Beat(ctx, "n", store.Ticket{}, func(*placement.Node, *placement.Lease) error { return nil })
	_, _, caller := k.store.Caller(ctx, "fp")
	_, pulse := k.store.Pulse(ctx, "n")
	_, poll := k.store.Poll(ctx, "a")
	for name, err := range map[string]error{
		"Atomically": k.store.Atomically(ctx, unwanted), "View": k.store.View(ctx, unwanted), "Beat": beat, "Caller": caller,
		"Pulse": pulse, "Poll": poll,
		"Ping": k.store.Ping(ctx),
	} {
		k.refused(name, err, fault.Unavailable, "request_ended")
	}
	k.must(k.store.Ping(k.ctx))
}
