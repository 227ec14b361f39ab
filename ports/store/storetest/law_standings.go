package storetest

import (
	"context"
	"errors"
	"fmt"

	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func standingLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a standing is a tenant's placement and head", standingWhole),
		promise("differing leaves out exactly what stands as believed", differingExact),
		promise("differing names each tenant once", differingOnce),
		promise("differing takes huge lists", differingHuge),
		promise("differing finds any one change among many", differingAny),
	}
}

// place makes a tenant at a revision, and its placement where a node is given.
func place(ctx context.Context, r *store.Roles, tenant, node string, generation, revision int64) error {
	head := authorization.TenantRecord{ID: tenant, Status: authorization.TenantActive, Revision: revision, Floor: 1}
	if err := r.Tenants.Create(ctx, authorization.RestoreTenant(head)); err != nil || node == "" {
		return err
	}
	return r.Placements.Create(ctx, placement.Restore(placement.Record{
		Tenant: tenant, Node: node, Generation: generation, Version: generation, ChangedAt: noon,
	}))
}

func standingWhole(k *kit) {
	head, at := full[authorization.TenantRecord](k.maker), full[placement.Record](k.maker)
	head.ID, at.Tenant = "acme", "acme"
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.Tenants.Create(ctx, authorization.RestoreTenant(head)),
			r.Placements.Create(ctx, placement.Restore(at)), place(ctx, r, "waiting", "", 0, 1))
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.Standings.Get(ctx, "acme")
		if err == nil && got.Placement == nil {
			err = errors.New("a placed tenant stands nowhere")
		}
		if err != nil {
			return err
		}
		same(k, "the head", got.Tenant.Record(), head)
		same(k, "the placement", got.Placement.Record(), at)
		waiting, err := r.Standings.Get(ctx, "waiting")
		if err == nil && (waiting.Placement != nil || waiting.Tenant.ID() != "waiting") {
			err = fmt.Errorf("a waiting tenant stands at %+v", waiting)
		}
		return err
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, absent, err := r.Standings.Differing(ctx, "n", []store.Known{{Tenant: "acme"}})
		if err == nil && (len(got) != 1 || len(absent) != 0 || got[0].Placement == nil) {
			err = fmt.Errorf("%d differ, %q are absent", len(got), absent)
		}
		if err == nil {
			same(k, "the head", got[0].Tenant.Record(), head)
			same(k, "the placement", got[0].Placement.Record(), at)
		}
		return err
	})
}

func (k *kit) differing(node string, known []store.Known, differing, absent string) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, gone, err := r.Standings.Differing(ctx, node, known)
		names, err := keysOf(got, err)(func(s store.Standing) string { return s.Tenant.ID() })
		return errors.Join(wants(differing)(names, err), wants(absent)(gone, nil))
	})
}

func differingExact(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(
			place(ctx, r, "same", "n", 3, 7), place(ctx, r, "generation-up", "n", 4, 7), place(ctx, r, "generation-down", "n", 2, 7),
			place(ctx, r, "revision-up", "n", 3, 8), place(ctx, r, "revision-down", "n", 3, 6), place(ctx, r, "elsewhere", "m", 3, 7),
			place(ctx, r, "waiting", "", 0, 7), place(ctx, r, "unasked", "n", 9, 9), place(ctx, r, "case", "N", 3, 7),
		)
	})
	var known []store.Known
	for _, tenant := range []string{
		"waiting", "same", "gone", "revision-up", "elsewhere", "generation-up", "revision-down", "generation-down", "absent", "case",
	} {
		known = append(known, store.Known{Tenant: tenant, Generation: 3, Revision: 7})
	}
	k.differing("n", known, "case elsewhere generation-down generation-up revision-down revision-up waiting", "absent gone")
	k.differing("nobody", known[1:2], "same", "")
	k.differing("n", nil, "", "")
	k.differing("n", []store.Known{{Tenant: "same", Generation: 3, Revision: 7}}, "", "")
}

func differingOnce(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(place(ctx, r, "a", "n", 1, 1), place(ctx, r, "b", "n", 1, 1), place(ctx, r, "c", "n", 1, 1))
	})
	believed := func(tenant string, generation, revision int64) store.Known {
		return store.Known{Tenant: tenant, Generation: generation, Revision: revision}
	}
	k.differing("n", []store.Known{
		believed("a", 1, 1), believed("a", 1, 1), believed("b", 1, 1), believed("b", 1, 2),
		believed("c", 2, 1), believed("c", 1, 1), believed("gone", 1, 1), believed("gone", 2, 2),
	}, "b c", "gone")
}

// herd is more than a page holds, and several times the rows of the longest statement.
const herd = store.MaxPage + 100

func (k *kit) herd() []store.Known {
	k.Helper()
	known := make([]store.Known, herd)
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range known {
			known[i] = store.Known{Tenant: fmt.Sprintf("t%05d", i), Generation: 1, Revision: int64(i)}
			if err := place(ctx, r, known[i].Tenant, "n", 1, int64(i)); err != nil {
				return err
			}
		}
		return nil
	})
	k.rand.Shuffle(herd, func(i, j int) { known[i], known[j] = known[j], known[i] })
	return known
}

func differingHuge(k *kit) {
	known := k.herd()
	k.differing("n", known, "", "")
	for i := range 20_000 {
		known = append(known, store.Known{Tenant: fmt.Sprintf("t%05d-gone", i%10_000), Generation: 1, Revision: 1})
	}
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		for node, want := range map[string]int{"n": 0, "other": herd} {
			got, absent, err := r.Standings.Differing(ctx, node, known)
			if err == nil && (len(got) != want || len(absent) != 10_000) {
				err = fmt.Errorf("for %s %d differ and %d are absent", node, len(got), len(absent))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func differingAny(k *kit) {
	known := k.herd()
	for range 12 {
		i := k.rand.IntN(herd)
		k.mustDo(func(ctx context.Context, r *store.Roles) error {
			return store.UpdateIn(ctx, r.Tenants, known[i].Tenant, func(t *authorization.Tenant) error {
				before := t.Record()
				before.Revision++
				*t = *authorization.RestoreTenant(before)
				return nil
			})
		})
		k.differing("n", known, known[i].Tenant, "")
		known[i].Revision++
	}
	k.differing("n", known, "", "")
}
