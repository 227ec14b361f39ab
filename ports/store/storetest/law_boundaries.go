package storetest

import (
	"context"
	"fmt"
	"maps"
	"runtime"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func boundaryLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a view refuses to write", viewsRefuse),
		promise("roles end with their function", rolesEnd),
		promise("nothing begins within a transaction", nestingRefused),
	}
}

func exit() { runtime.Goexit() }

// writes are the methods that change something, each called with what it would take.
func writes() map[string]body {
	out := map[string]body{
		"queue add": func(ctx context.Context, r *store.Roles) error {
			return r.Queue.Add(ctx, placement.Waiting{Tenant: "t", Since: noon})
		},
		"queue remove": func(ctx context.Context, r *store.Roles) error { return r.Queue.Remove(ctx, "every") },
		"backup": func(ctx context.Context, r *store.Roles) error {
			return r.Backups.Put(ctx, placement.Backup{Tenant: "every"})
		},
		"handles add":  func(ctx context.Context, r *store.Roles) error { return r.Handles.Add(ctx, oneHandle("p")) },
		"handles save": func(ctx context.Context, r *store.Roles) error { return r.Handles.Save(ctx, oneHandle("every")) },
		"route":        func(ctx context.Context, r *store.Roles) error { return r.Routes.Create(ctx, route("t", "main")) },
		"changes": func(ctx context.Context, r *store.Roles) error {
			return r.Changes.Append(ctx, "t", []authorization.Change{{Revision: 1, Part: 1}})
		},
		"changes drop": func(ctx context.Context, r *store.Roles) error { return r.Changes.Drop(ctx, "every", 1) },
		"secret sweep": func(ctx context.Context, r *store.Roles) error { return second(r.Secrets.Sweep(ctx, noon, 1)) },
		"spend":        func(ctx context.Context, r *store.Roles) error { return r.Nonces.Spend(ctx, ticket("t")) },
		"nonce sweep":  func(ctx context.Context, r *store.Roles) error { return second(r.Nonces.Sweep(ctx, noon, 1)) },
		"audit": func(ctx context.Context, r *store.Roles) error {
			return r.Audit.Append(ctx, audit.Draft{
				At: noon, Actor: audit.Actor{Kind: audit.ActorSystem, ID: "berth"}, Action: "a.b", Subject: "a/b",
			})
		},
		"begin": func(ctx context.Context, r *store.Roles) error {
			return second(r.Idempotency.Begin(ctx, store.Once{Scope: "s", Key: "k"}))
		},
		"finish": func(ctx context.Context, r *store.Roles) error {
			return r.Idempotency.Finish(ctx, store.Once{Scope: "every", Key: "every"})
		},
		"release":    func(ctx context.Context, r *store.Roles) error { return r.Idempotency.Release(ctx, "every", "every") },
		"once sweep": func(ctx context.Context, r *store.Roles) error { return second(r.Idempotency.Sweep(ctx, noon, 1)) },
	}
	maps.Copy(out, deliveryWrites())
	for _, s := range samples() {
		out["create "+s.thing] = func(ctx context.Context, r *store.Roles) error {
			return s.create(ctx, r, s.full(newMaker(5), "every"))
		}
		if s.save == nil {
			continue
		}
		out["save "+s.thing] = func(ctx context.Context, r *store.Roles) error {
			return s.save(ctx, r, s.full(newMaker(6), "every"))
		}
	}
	return out
}

func oneHandle(principal string) []*authorization.Handle {
	return []*authorization.Handle{authorization.RestoreHandle(authorization.HandleRecord{Tenant: "every", Principal: principal})}
}

func viewsRefuse(k *kit) {
	k.mustDo(everywhere)
	for what, write := range writes() {
		err := k.see(write)
		k.refused(what+" in a view", err, fault.Internal, "store_read_only")
		err = k.see(func(ctx context.Context, r *store.Roles) error {
			if err := write(ctx, r); err == nil {
				return fmt.Errorf("%s in a view was not refused", what)
			}
			return nil
		})
		k.must(err)
	}
	for _, s := range samples() {
		k.holds(s, "every", s.full(newMaker(5), "every"))
	}
}

func rolesEnd(k *kit) {
	var kept *store.Roles
	keep := func(_ context.Context, r *store.Roles) error {
		kept = r
		return nil
	}
	for name, run := range map[string]func(body) error{"do": k.do, "see": k.see} {
		k.must(run(keep))
		for what, write := range writes() {
			k.refused(what+" after "+name, write(k.ctx, kept), fault.Internal, "store_over")
		}
		for what, read := range reads("every") {
			k.refused(what+" after "+name, read(k.ctx, kept), fault.Internal, "store_over")
		}
	}
	k.mustDo(everywhere)
}

func nestingRefused(k *kit) {
	empty := func(context.Context, *store.Roles) error { return nil }
	inner := map[string]func(ctx context.Context) error{
		"Atomically": func(ctx context.Context) error { return k.store.Atomically(ctx, empty) },
		"View":       func(ctx context.Context) error { return k.store.View(ctx, empty) },
		"Beat": func(ctx context.Context) error {
			return second(k.store.Beat(ctx, "n", store.Ticket{}, func(*placement.Node, *placement.Lease) error { return nil }))
		},
		"Caller": func(ctx context.Context) error {
			_, _, err := k.store.Caller(ctx, "fp")
			return err
		},
		"Pulse": func(ctx context.Context) error { return second(k.store.Pulse(ctx, "n")) },
		"Poll":  func(ctx context.Context) error { return second(k.store.Poll(ctx, "a")) },
	}
	for outer, run := range map[string]func(body) error{"a transaction": k.do, "a view": k.see} {
		for name, begin := range inner {
			err := run(func(ctx context.Context, _ *store.Roles) error { return begin(ctx) })
			k.refused(name+" within "+outer, err, fault.Internal, "store_nested")
		}
	}
}
