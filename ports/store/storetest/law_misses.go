package storetest

import (
	"context"
	"errors"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func missLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a miss is NotFound", misses),
		promise("saving what is missing is NotFound and creates nothing", savesCreateNothing),
		promise("a second Create is AlreadyExists and keeps the first", createsKeepTheFirst),
		promise("a transaction goes on after a refusal", refusalsSpoilNothing),
		promise("handles are added and saved all or none", handlesAllOrNone),
	}
}

func misses(k *kit) {
	for _, s := range samples() {
		k.missing(s)
	}
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		backup, err := r.Backups.Get(ctx, "nobody")
		if err == nil && backup != nil {
			err = errors.New("there is a backup of nobody")
		}
		return err
	})
	others := map[string]body{
		"waiting_not_found": func(ctx context.Context, r *store.Roles) error { return second(r.Queue.Get(ctx, "nobody")) },
		"route_not_found":   func(ctx context.Context, r *store.Roles) error { return second(r.Routes.Get(ctx, "nobody", "main")) },
		"tenant_not_found":  func(ctx context.Context, r *store.Roles) error { return second(r.Standings.Get(ctx, "nobody")) },
	}
	for slug, read := range others {
		k.refused("a read", k.see(read), fault.NotFound, slug)
	}
	err := k.do(func(ctx context.Context, r *store.Roles) error { return r.Queue.Remove(ctx, "nobody") })
	k.refused("remove", err, fault.NotFound, "waiting_not_found")
	err = k.do(func(ctx context.Context, r *store.Roles) error {
		return r.Idempotency.Finish(ctx, store.Once{Scope: "s", Key: "nobody"})
	})
	k.refused("finish", err, fault.NotFound, "once_not_found")
}

func (k *kit) missing(s sample) {
	k.Helper()
	err := k.see(func(ctx context.Context, r *store.Roles) error {
		_, err := s.get(ctx, r, s.key("missing"))
		return err
	})
	k.refused(s.thing, err, fault.NotFound, s.thing+"_not_found")
}

func savesCreateNothing(k *kit) {
	for _, s := range changing() {
		k.mustDo(func(ctx context.Context, r *store.Roles) error {
			return expect(s.save(ctx, r, s.full(k.maker, "missing")), fault.NotFound, s.thing+"_not_found")
		})
		k.missing(s)
	}
}

func createsKeepTheFirst(k *kit) {
	for _, s := range samples() {
		first := s.full(newMaker(1), "x")
		k.mustDo(func(ctx context.Context, r *store.Roles) error {
			if err := s.create(ctx, r, first); err != nil {
				return err
			}
			return expect(s.create(ctx, r, s.full(newMaker(2), "x")), fault.AlreadyExists, s.thing+"_exists")
		})
		k.mustDo(func(ctx context.Context, r *store.Roles) error {
			return expect(s.create(ctx, r, s.full(newMaker(3), "x")), fault.AlreadyExists, s.thing+"_exists")
		})
		k.holds(s, "x", first)
	}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(
			r.Queue.Add(ctx, placement.Waiting{Tenant: "x", Region: "eu", Since: noon}),
			expect(r.Queue.Add(ctx, placement.Waiting{Tenant: "x", Region: "us"}), fault.AlreadyExists, "waiting_exists"),
			r.Routes.Create(ctx, route("x", "main")),
			expect(r.Routes.Create(ctx, route("x", "main")), fault.AlreadyExists, "route_exists"),
			r.Routes.Create(ctx, route("y", "main")),
		)
	})
}

func refusalsSpoilNothing(k *kit) {
	t := ticket("spent")
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.Regions.Create(ctx, placement.Region{ID: "eu"}), r.Nonces.Spend(ctx, t))
	})
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		before := r.Regions.Create(ctx, placement.Region{ID: "before"})
		refusals := errors.Join(
			expect(r.Regions.Create(ctx, placement.Region{ID: "eu"}), fault.AlreadyExists, "region_exists"),
			expect(r.Regions.Save(ctx, placement.Region{ID: "us"}), fault.NotFound, "region_not_found"),
			expect(second(r.Regions.Get(ctx, "us")), fault.NotFound, "region_not_found"),
			expect(second(r.Regions.Get(ctx, "us\x00")), fault.Invalid, "invalid_text"),
			expect(r.Nonces.Spend(ctx, t), fault.Unauthenticated, "assertion_replayed"),
			expect(r.Queue.Remove(ctx, "nobody"), fault.NotFound, "waiting_not_found"),
		)
		return errors.Join(before, refusals, r.Regions.Create(ctx, placement.Region{ID: "after"}))
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(second(r.Regions.Get(ctx, "before")), second(r.Regions.Get(ctx, "after")))
	})
}

func ticket(nonce string) store.Ticket {
	return store.Ticket{Scope: "secret-1", Nonce: nonce, ExpiresAt: noon}
}

func handlesAllOrNone(k *kit) {
	digest := func(n byte) authorization.HandleRecord {
		return authorization.HandleRecord{
			Tenant: "acme", Principal: "p", Route: "main", Status: authorization.Active,
			Digest: authorization.Digest{31: n}, CreatedAt: noon,
		}
	}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		first := restoreHandles([]authorization.HandleRecord{digest(1)})
		return errors.Join(havePrincipal(ctx, r, "acme", "p"), r.Handles.Add(ctx, first), r.Handles.Add(ctx, nil))
	})
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		mixed := restoreHandles([]authorization.HandleRecord{digest(2), digest(1), digest(3)})
		twice := restoreHandles([]authorization.HandleRecord{digest(4), digest(4)})
		return errors.Join(
			expect(r.Handles.Add(ctx, mixed), fault.AlreadyExists, "handle_exists"),
			expect(r.Handles.Add(ctx, twice), fault.AlreadyExists, "handle_exists"),
		)
	})
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		changed := digest(1)
		changed.Status = authorization.Revoked
		return expect(r.Handles.Save(ctx, restoreHandles([]authorization.HandleRecord{changed, digest(2)})),
			fault.NotFound, "handle_not_found")
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.Handles.OfTenant(ctx, "acme")
		if err == nil {
			same(k, "handles", handleRecords(got), []authorization.HandleRecord{digest(1)})
		}
		return err
	})
}
