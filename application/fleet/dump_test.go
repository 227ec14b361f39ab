package fleet_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// dump is all that this package keeps in a store.
type dump struct {
	Regions    []placement.Region
	Nodes      map[string]placement.NodeRecord
	Leases     map[string]placement.LeaseRecord
	Placements map[string]placement.Record
	Migrations map[string]placement.MigrationRecord
	Queue      []placement.Waiting
	Backups    map[string]placement.Backup
	Audit      audit.Head
}

func (w *world) dump() dump {
	w.t.Helper()
	d := dump{
		Nodes: map[string]placement.NodeRecord{}, Leases: map[string]placement.LeaseRecord{},
		Placements: map[string]placement.Record{}, Migrations: map[string]placement.MigrationRecord{},
		Backups: map[string]placement.Backup{},
	}
	all := store.Page{Limit: store.MaxPage}
	w.view(func(ctx context.Context, r *store.Roles) (err error) {
		if d.Regions, err = r.Regions.List(ctx, all); err != nil {
			return err
		}
		if d.Queue, err = r.Queue.Oldest(ctx, "", store.MaxPage); err != nil {
			return err
		}
		if d.Audit, err = r.Audit.Head(ctx); err != nil {
			return err
		}
		nodes, err := r.Nodes.Candidates(ctx, "", all)
		for _, c := range nodes {
			d.Nodes[c.Node.Record().ID], d.Leases[c.Node.Record().ID] = c.Node.Record(), c.Lease.Record()
		}
		if err != nil {
			return err
		}
		tenants, err := r.Tenants.List(ctx, all)
		for _, t := range tenants {
			d.tenant(ctx, w, r, t)
		}
		return err
	})
	return d
}

func (d dump) tenant(ctx context.Context, w *world, r *store.Roles, t *authorization.Tenant) {
	w.t.Helper()
	if p, err := r.Placements.Get(ctx, t.ID()); err == nil {
		d.Placements[t.ID()] = p.Record()
	}
	migrations, err := r.Migrations.OfTenant(ctx, t.ID(), store.Page{Limit: store.MaxPage})
	w.must(err)
	for _, m := range migrations {
		d.Migrations[m.Record().ID] = m.Record()
	}
	b, err := r.Backups.Get(ctx, t.ID())
	w.must(err)
	if b != nil {
		d.Backups[t.ID()] = *b
	}
}

// same fails the test unless nothing at all changed, and nothing was hinted at.
func (w *world) same(before dump, what string) {
	w.t.Helper()
	if after := w.dump(); !reflect.DeepEqual(before, after) {
		w.t.Fatalf("%s changed something:\n%+v\n%+v", what, before, after)
	}
	if topics := w.hints.Took(); len(topics) > 0 {
		w.t.Fatalf("%s hinted at %v", what, topics)
	}
}

// failCommitsAfter lets n commits pass and fails those that follow.
func (w *world) failCommitsAfter(n int64) {
	left := new(atomic.Int64)
	left.Store(n)
	w.mem.Inject(storetest.Faults{Commit: func() error {
		if left.Add(-1) >= 0 {
			return nil
		}
		return storetest.Unavailable()
	}})
}

func (w *world) noFaults() { w.mem.Inject(storetest.Faults{}) }

// tampered is a store whose roles a test replaces.
type tampered struct {
	store.Store
	tamper func(*store.Roles)
}

func (s tampered) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	return s.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		c := *r
		s.tamper(&c)
		return fn(ctx, &c)
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
