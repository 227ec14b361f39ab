package fleet

import (
	"context"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// MigrationRequest asks for a migration of a tenant.
type MigrationRequest struct {
	Tenant    string
	Migration string
	Wait      time.Duration // how long to wait for it to change or end, at most Settings.MaxWait
}

// Migration returns a migration; with a wait, once it is another than at first, or has ended.
// Faults: NotFound migration_not_found; Exhausted too_many_waiters.
func (f *Fleet) Migration(ctx context.Context, in MigrationRequest) (*placement.Migration, error) {
	var first, last *placement.Migration
	err := f.await(ctx, in.Wait, migrationTopic(in.Migration), nil, func(ctx context.Context) (bool, error) {
		err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
			last, err = migrationOf(ctx, r, in.Tenant, in.Migration)
			return err
		})
		if err != nil {
			return false, err
		}
		if first == nil {
			first = last
		}
		return last.Ended() || moved(first.Record(), last.Record()), nil
	})
	if err != nil {
		return nil, err
	}
	return last, nil
}

func moved(a, b placement.MigrationRecord) bool {
	return a.State != b.State || !a.ChangedAt.Equal(b.ChangedAt) || len(a.Steps) != len(b.Steps)
}

// migrationOf returns a migration under the tenant that it belongs to; under another there is none.
func migrationOf(ctx context.Context, r *store.Roles, tenant, id string) (*placement.Migration, error) {
	m, err := r.Migrations.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if m.Record().Tenant != tenant {
		return nil, fault.New(fault.NotFound, "migration_not_found", "there is no migration %s of tenant %s", id, tenant)
	}
	return m, nil
}
