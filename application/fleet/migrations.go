package fleet

import (
	"context"

	"berth/domain/placement"
	"berth/ports/store"
)

// MigrationsRequest asks for a tenant's migrations.
type MigrationsRequest struct {
	Tenant string
	Page   store.Page
}

// Migrations lists a tenant's migrations, oldest first. Fault: NotFound tenant_not_found.
func (f *Fleet) Migrations(ctx context.Context, in MigrationsRequest) (store.List[*placement.Migration], error) {
	var out store.List[*placement.Migration]
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		if _, err := r.Tenants.Get(ctx, in.Tenant); err != nil {
			return err
		}
		var err error
		out, err = store.Listed(in.Page, func(p store.Page) ([]*placement.Migration, error) {
			return r.Migrations.OfTenant(ctx, in.Tenant, p)
		}, migrationKey)
		return err
	})
	return out, err
}

func migrationKey(m *placement.Migration) string { return m.Record().ID }
