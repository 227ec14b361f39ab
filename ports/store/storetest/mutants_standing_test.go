package storetest

import (
	"context"
	"slices"

	"berth/ports/store"
)

func standingMutants() []broken {
	differing := func(change func(ctx context.Context, s store.Standings, node string, known []store.Known) ([]store.Standing, []string, error)) func(*mutant) {
		return twisting(func(_ *tx, r *store.Roles) { r.Standings = changedStandings{r.Standings, change} })
	}
	without := func(drop func(s store.Standing, k store.Known, node string) bool) func(*mutant) {
		return differing(func(ctx context.Context, s store.Standings, node string, known []store.Known) ([]store.Standing, []string, error) {
			out, absent, err := s.Differing(ctx, node, known)
			out = slices.DeleteFunc(out, func(v store.Standing) bool {
				i := slices.IndexFunc(known, func(k store.Known) bool { return k.Tenant == v.Tenant.ID() })
				return drop(v, known[i], node)
			})
			return out, absent, err
		})
	}
	exact := "differing leaves out exactly what stands as believed"
	return []broken{
		{"an old revision is accepted", exact, without(func(s store.Standing, k store.Known, node string) bool {
			return s.Placement != nil && s.Placement.Holds(node) && s.Placement.Record().Generation == k.Generation && s.Tenant.Revision() < k.Revision
		})},
		{"any generation is accepted", exact, without(func(s store.Standing, k store.Known, node string) bool {
			return s.Placement != nil && s.Placement.Holds(node) && s.Tenant.Revision() == k.Revision
		})},
		{"any node is taken for the holder", exact, without(func(s store.Standing, k store.Known, _ string) bool {
			return s.Placement != nil && s.Placement.Record().Generation == k.Generation && s.Tenant.Revision() == k.Revision
		})},
		{"a waiting tenant is left out", exact, without(func(s store.Standing, _ store.Known, _ string) bool { return s.Placement == nil })},
		{"absent tenants are not told", exact, differing(func(ctx context.Context, s store.Standings, node string, known []store.Known) ([]store.Standing, []string, error) {
			out, _, err := s.Differing(ctx, node, known)
			return out, nil, err
		})},
		{"the last belief counts alone", "differing names each tenant once", differing(
			func(ctx context.Context, s store.Standings, node string, known []store.Known) ([]store.Standing, []string, error) {
				last := map[string]store.Known{}
				for _, k := range known {
					last[k.Tenant] = k
				}
				var kept []store.Known
				for _, k := range last {
					kept = append(kept, k)
				}
				return s.Differing(ctx, node, kept)
			})},
		{"each belief is answered", "differing names each tenant once", differing(
			func(ctx context.Context, s store.Standings, node string, known []store.Known) (out []store.Standing, absent []string, err error) {
				for i := range known {
					more, gone, err := s.Differing(ctx, node, known[i:i+1])
					if err != nil {
						return nil, nil, err
					}
					out, absent = append(out, more...), append(absent, gone...)
				}
				return out, absent, nil
			})},
		{"long lists are cut", "differing takes huge lists", differing(
			func(ctx context.Context, s store.Standings, node string, known []store.Known) ([]store.Standing, []string, error) {
				return s.Differing(ctx, node, known[:min(len(known), store.MaxPage)])
			})},
		{"a standing has no placement", "a standing is a tenant's placement and head", twisting(func(_ *tx, r *store.Roles) {
			r.Standings = headStandings{r.Standings}
		})},
		{"one change in a long list is missed", "differing finds any one change among many", differing(
			func(ctx context.Context, s store.Standings, node string, known []store.Known) ([]store.Standing, []string, error) {
				out, absent, err := s.Differing(ctx, node, known)
				if len(known) > 100 && len(out) == 1 {
					out = nil
				}
				return out, absent, err
			})},
	}
}

type changedStandings struct {
	store.Standings
	change func(ctx context.Context, s store.Standings, node string, known []store.Known) ([]store.Standing, []string, error)
}

func (s changedStandings) Differing(ctx context.Context, node string, known []store.Known) ([]store.Standing, []string, error) {
	return s.change(ctx, s.Standings, node, known)
}

type headStandings struct{ store.Standings }

func (s headStandings) Get(ctx context.Context, tenant string) (store.Standing, error) {
	v, err := s.Standings.Get(ctx, tenant)
	v.Placement = nil
	return v, err
}
