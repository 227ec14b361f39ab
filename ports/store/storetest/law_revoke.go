package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func revokeLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a revocation is seen whole or not at all", revokeSeenWhole),
		promise("a revocation that fails at any step leaves everything", revokeFailsWhole),
		promise("revocations at once each make one revision", revokesRaced),
	}
}

const devices, handlesEach = 6, 4

// phones makes a tenant with devices and their handles.
func (k *kit) phones() {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		tenant, main, err := authorization.NewTenant("acme", noon)
		if err != nil {
			return err
		}
		if err := errors.Join(r.Tenants.Create(ctx, tenant), r.Routes.Create(ctx, main)); err != nil {
			return err
		}
		for i := range devices {
			if err := k.admit(ctx, r, tenant, main, i); err != nil {
				return err
			}
		}
		return r.Tenants.Save(ctx, tenant)
	})
}

func device(i int) string { return fmt.Sprintf("prn_%02d", i) }

func (k *kit) admit(ctx context.Context, r *store.Roles, t *authorization.Tenant, main authorization.Route, i int) error {
	p, err := authorization.NewPrincipal(authorization.PrincipalSpec{
		Tenant: "acme", ID: device(i), Kind: authorization.Phone, Role: authorization.Member, Name: "Phone",
		PublicKey: []byte("0123456789abcdef0123456789abcdef"),
	}, noon)
	if err != nil {
		return err
	}
	var hs []*authorization.Handle
	for range handlesEach {
		h, err := authorization.NewHandle(full[authorization.Digest](k.maker), p, main, noon)
		if err != nil {
			return err
		}
		hs = append(hs, h)
	}
	changes, err := t.Admit(p, hs, authorization.DefaultLimits(), noon)
	if err != nil {
		return err
	}
	return errors.Join(r.Principals.Create(ctx, p), r.Handles.Add(ctx, hs), r.Changes.Append(ctx, "acme", changes))
}

// revoke is A5 as a use case writes it. It stops before the given step; a negative one is none.
func revoke(ctx context.Context, r *store.Roles, principal string, stop int) error {
	t, err := r.Tenants.Get(ctx, "acme")
	if err != nil {
		return err
	}
	p, err := r.Principals.Get(ctx, principal)
	if err != nil {
		return err
	}
	hs, err := r.Handles.OfPrincipal(ctx, "acme", principal)
	if err != nil {
		return err
	}
	done, err := t.Revoke(p, hs, authorization.ByOperator("op"), noon)
	if err != nil {
		return err
	}
	draft := audit.Draft{
		At: noon, Actor: audit.Actor{Kind: audit.ActorOperator, ID: "op"}, Action: "principal.revoked",
		Subject: "principal/" + principal, Detail: map[string]string{"revision": fmt.Sprint(done.Revision)},
	}
	for i, step := range []func() error{
		func() error { return r.Principals.Save(ctx, p) }, func() error { return r.Handles.Save(ctx, hs) },
		func() error { return r.Tenants.Save(ctx, t) }, func() error { return r.Changes.Append(ctx, "acme", done.Changes) },
		func() error { return r.Audit.Append(ctx, draft) }, func() error { return nil },
	} {
		if i == stop {
			return errUndo
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// whole says whether a view of the tenant fits together: what the domain counts, the log and the audit agree.
func whole(ctx context.Context, r *store.Roles) (revoked int64, err error) {
	t, err := r.Tenants.Get(ctx, "acme")
	if err != nil {
		return 0, err
	}
	ps, err := r.Principals.OfTenant(ctx, "acme", store.Page{Limit: store.MaxPage})
	if err != nil {
		return 0, err
	}
	hs, err := r.Handles.OfTenant(ctx, "acme")
	if err != nil {
		return 0, err
	}
	routes, err := r.Routes.OfTenant(ctx, "acme", store.Page{Limit: store.MaxPage})
	if err != nil {
		return 0, err
	}
	if _, err := t.Snapshot(authorization.Place{}, ps, hs, routes); err != nil {
		return 0, err
	}
	log, err := r.Changes.Since(ctx, "acme", 1, authorization.MaxDelta)
	if err != nil {
		return 0, err
	}
	if _, err := authorization.DeltaSince(t, 1, 1, log); err != nil {
		return 0, err
	}
	head, err := r.Audit.Head(ctx)
	if err == nil && head.Sequence != t.Revision()-1-devices {
		err = fmt.Errorf("revision %d, but %d audit entries", t.Revision(), head.Sequence)
	}
	return head.Sequence, err
}

func revokeSeenWhole(k *kit) {
	k.phones()
	var left atomic.Int64
	left.Store(devices)
	k.mustAll(2*devices, func(i int) error {
		if i%2 == 0 {
			defer left.Add(-1)
			return k.do(func(ctx context.Context, r *store.Roles) error { return revoke(ctx, r, device(i/2), -1) })
		}
		for round := 0; round < rounds || left.Load() > 0; round++ {
			if err := k.see(func(ctx context.Context, r *store.Roles) error { return second(whole(ctx, r)) }); err != nil {
				return err
			}
		}
		return nil
	})
	k.revoked(devices)
}

func (k *kit) revoked(want int64) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := whole(ctx, r)
		if err == nil && got != want {
			err = fmt.Errorf("%d devices are revoked, want %d", got, want)
		}
		return err
	})
}

func revokeFailsWhole(k *kit) {
	k.phones()
	for stop := range 6 {
		err := k.do(func(ctx context.Context, r *store.Roles) error { return revoke(ctx, r, device(0), stop) })
		if !errors.Is(err, errUndo) {
			k.Fatalf("stopped before step %d: %v", stop, err)
		}
		k.revoked(0)
	}
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return revoke(ctx, r, device(0), -1) })
	k.revoked(1)
}

func revokesRaced(k *kit) {
	k.phones()
	revisions := make([]int64, devices)
	k.mustAll(devices, func(i int) error {
		err := k.do(func(ctx context.Context, r *store.Roles) error { return revoke(ctx, r, device(i), -1) })
		if err != nil {
			return err
		}
		return k.see(func(ctx context.Context, r *store.Roles) error {
			p, err := r.Principals.Get(ctx, device(i))
			if err == nil {
				revisions[i] = p.Record().RevokedRevision
			}
			return err
		})
	})
	seen := map[int64]bool{}
	for _, revision := range revisions {
		if revision <= 1+devices || revision > 1+2*devices || seen[revision] {
			k.Fatalf("the revocations made the revisions %v", revisions)
		}
		seen[revision] = true
	}
	k.revoked(devices)
}

// changeLaws are those of the log that deltas are answered from.
func changeLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("changes come back whole, by revision and part", changesOrdered),
		promise("dropped changes are gone, and no others", changesDropped),
		promise("a part of a revision is logged once", changesOnce),
	}
}

// log appends revisions of so many parts each, from revision 1 on, and returns all in order.
func (k *kit) log(tenant string, parts ...int) []authorization.Change {
	k.Helper()
	var all []authorization.Change
	for i, n := range parts {
		for part := range n {
			c := full[authorization.Change](k.maker)
			c.Revision, c.Part, c.Parts = int64(i+1), part+1, n
			all = append(all, c)
		}
	}
	shuffled := append([]authorization.Change(nil), all...)
	k.rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Changes.Append(ctx, tenant, shuffled) })
	return all
}

func (k *kit) since(tenant string, from int64, limit int, want []authorization.Change) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.Changes.Since(ctx, tenant, from, limit)
		if err == nil {
			same(k, fmt.Sprintf("changes of %s since %d", tenant, from), got, want)
		}
		return err
	})
}

func changesOrdered(k *kit) {
	all := k.log("acme", 1, 3, 12, 2)
	other := k.log("acm", 2)
	k.since("acme", 0, 99, all)
	k.since("acme", 1, 99, all[1:])
	k.since("acme", 2, 7, all[4:11])
	k.since("acme", 4, 99, nil)
	k.since("acme", 0, 0, all[:1])
	k.since("acm", 0, 99, other)
	k.since("acmeeu", 0, 99, nil)
}

func changesDropped(k *kit) {
	all, other := k.log("acme", 2, 3, 2), k.log("acm", 1, 1)
	for _, floor := range []int64{0, 2, 2} {
		k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Changes.Drop(ctx, "acme", floor) })
		k.since("acme", 0, 99, all[[]int{0, 0, 5}[floor]:])
	}
	k.since("acm", 0, 99, other)
}

func changesOnce(k *kit) {
	all := k.log("acme", 2)
	err := k.do(func(ctx context.Context, r *store.Roles) error {
		again := full[authorization.Change](k.maker)
		again.Revision, again.Part = 1, 2
		return r.Changes.Append(ctx, "acme", []authorization.Change{again})
	})
	k.refused("a second part 2", err, fault.AlreadyExists, "change_exists")
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Changes.Append(ctx, "acme", nil) })
	k.since("acme", 0, 99, all)
}
