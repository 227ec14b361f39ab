package storetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

func listMutants() []broken {
	list := func(list func(ctx context.Context, r store.Regions, p store.Page) ([]placement.Region, error)) func(*mutant) {
		return twisting(func(_ *tx, r *store.Roles) { r.Regions = listedRegions{r.Regions, list} })
	}
	return []broken{
		{"a list comes backwards", "a list is ordered by the bytes of its key", list(
			func(ctx context.Context, r store.Regions, p store.Page) ([]placement.Region, error) {
				vs, err := r.List(ctx, p)
				slices.Reverse(vs)
				return vs, err
			})},
		{"a list is ordered by letters", "a list is ordered by the bytes of its key", list(
			func(ctx context.Context, r store.Regions, p store.Page) ([]placement.Region, error) {
				vs, err := r.List(ctx, p)
				slices.SortStableFunc(vs, func(a, b placement.Region) int {
					return cmp.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID))
				})
				return vs, err
			})},
		{"a page begins with the last of the one before", "pages follow one another without gap or repeat", list(
			func(ctx context.Context, r store.Regions, p store.Page) ([]placement.Region, error) {
				vs, err := r.List(ctx, p)
				if at, missed := r.Get(ctx, p.After); missed == nil && len(vs) > 0 {
					vs = append([]placement.Region{at}, vs[:len(vs)-1]...)
				}
				return vs, err
			})},
		{"a page leaves one out", "pages follow one another without gap or repeat", list(
			func(ctx context.Context, r store.Regions, p store.Page) ([]placement.Region, error) {
				p.Limit++
				vs, err := r.List(ctx, p)
				if p.After != "" && len(vs) == p.Limit {
					vs = vs[1:]
				}
				return vs[:min(len(vs), p.Limit-1)], err
			})},
		{"a page has no bound", "a page is bounded below and above", list(
			func(ctx context.Context, r store.Regions, p store.Page) ([]placement.Region, error) {
				vs, err := r.List(ctx, p)
				if p.Limit > store.MaxPage && len(vs) > 0 {
					more, _ := r.List(ctx, store.Page{After: vs[len(vs)-1].ID, Limit: 1})
					vs = append(vs, more...)
				}
				return vs, err
			})},
		{"an empty list is a miss", "an empty list is no fault", list(
			func(ctx context.Context, r store.Regions, p store.Page) ([]placement.Region, error) {
				vs, err := r.List(ctx, p)
				if err == nil && len(vs) == 0 {
					err = store.Missing("region")
				}
				return vs, err
			})},
		{"a migration that ended runs", "migrations that ended do not run", twisting(func(t *tx, r *store.Roles) {
			r.Migrations = endlessMigrations{r.Migrations, t}
		})},
		{"targets are not concerned", "placements are found by holder, source and target", twisting(func(_ *tx, r *store.Roles) {
			r.Placements = holderPlacements{r.Placements}
		})},
		{"the queue is by tenant", "the queue is oldest first, then by tenant", twisting(func(_ *tx, r *store.Roles) {
			r.Queue = alphabeticQueue{r.Queue}
		})},
		{"a retired node's credential is in force", "credentials in force are those a node may use", twisting(func(t *tx, r *store.Roles) {
			r.Credentials = eternalCredentials{r.Credentials, t}
		})},
		{"a sweep takes all", "a sweep of nonces is bounded by time and number", twisting(func(_ *tx, r *store.Roles) {
			r.Nonces = greedyNonces{r.Nonces}
		})},
		{"a sweep takes what ends now", "a sweep of nonces is bounded by time and number", twisting(func(_ *tx, r *store.Roles) {
			r.Nonces = eagerNonces{r.Nonces}
		})},
	}
}

type listedRegions struct {
	store.Regions
	list func(ctx context.Context, r store.Regions, p store.Page) ([]placement.Region, error)
}

func (r listedRegions) List(ctx context.Context, p store.Page) ([]placement.Region, error) {
	return r.list(ctx, r.Regions, p)
}

type endlessMigrations struct {
	store.Migrations
	t *tx
}

func (m endlessMigrations) Running(context.Context, store.Page) ([]*placement.Migration, error) {
	return of(m.t, migrationKind).page(store.Page{Limit: 99}, anything)
}

type holderPlacements struct{ store.Placements }

func (p holderPlacements) Concerning(ctx context.Context, node string, at store.Page) ([]*placement.Placement, error) {
	vs, err := p.Placements.Concerning(ctx, node, at)
	return slices.DeleteFunc(vs, func(v *placement.Placement) bool {
		return v.Record().Target == node && !v.Holds(node)
	}), err
}

type alphabeticQueue struct{ store.Queue }

func (q alphabeticQueue) Oldest(ctx context.Context, region string, limit int) ([]placement.Waiting, error) {
	vs, err := q.Queue.Oldest(ctx, region, limit)
	slices.SortFunc(vs, func(a, b placement.Waiting) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return vs, err
}

type eternalCredentials struct {
	store.Credentials
	t *tx
}

func (c eternalCredentials) InForce(_ context.Context, now time.Time, p store.Page) ([]*identity.Credential, error) {
	return of(c.t, credentialKind).page(p, func(r identity.CredentialRecord) bool {
		return identity.RestoreCredential(r).InForce(now)
	})
}

type greedyNonces struct{ store.Nonces }

func (n greedyNonces) Sweep(ctx context.Context, before time.Time, _ int) (int, error) {
	return n.Nonces.Sweep(ctx, before, 1000)
}

type eagerNonces struct{ store.Nonces }

func (n eagerNonces) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	return n.Nonces.Sweep(ctx, before.Add(time.Microsecond), limit)
}
