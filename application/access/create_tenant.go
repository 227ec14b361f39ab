package access

import (
	"context"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/placement"
	"berth/ports/store"
)

// CreateTenantRequest names a tenant and the region that it is to live in.
type CreateTenantRequest struct {
	Actor      audit.Actor
	ID         string
	HomeRegion string
}

// CreateTenant makes an active tenant with its main route and gives it a place, or a place in the queue, all in one
// transaction. Faults: Invalid invalid_id; NotFound region_not_found; AlreadyExists tenant_exists.
func (a *Access) CreateTenant(ctx context.Context, in CreateTenantRequest) (TenantView, error) {
	if err := fault.All(ident.Check("id", in.ID), ident.Check("home_region", in.HomeRegion)); err != nil {
		return TenantView{}, err
	}
	var view TenantView
	err := a.commit(ctx, in.Actor, store.Ticket{}, func(ctx context.Context, w *work) error {
		tenant, err := w.newTenant(ctx, in)
		if err != nil {
			return err
		}
		p, err := a.Placer.Place(ctx, w.Roles, in.ID, in.HomeRegion, w.now)
		if err != nil {
			return at(err, "region_not_found", "home_region")
		}
		w.hint(in.ID, p)
		view = viewOf(store.Standing{Tenant: tenant, Placement: p}, in.HomeRegion)
		return nil
	})
	if err != nil {
		return TenantView{}, err
	}
	return view, nil
}

func (w *work) newTenant(ctx context.Context, in CreateTenantRequest) (*authorization.Tenant, error) {
	if _, err := w.Regions.Get(ctx, in.HomeRegion); err != nil {
		return nil, at(err, "region_not_found", "home_region")
	}
	tenant, main, err := authorization.NewTenant(in.ID, w.now)
	if err != nil {
		return nil, err
	}
	if err := w.Tenants.Create(ctx, tenant); err != nil {
		return nil, at(err, "tenant_exists", "id")
	}
	if err := w.Routes.Create(ctx, main); err != nil {
		return nil, err
	}
	return tenant, w.note(ctx, "tenant.created", in.ID, map[string]string{
		"home_region": in.HomeRegion, "revision": number(tenant.Revision()),
	})
}

// TenantView is a tenant as operators see it.
type TenantView struct {
	Tenant     authorization.TenantRecord
	HomeRegion string            // where it lives or waits to; empty once it does neither
	Placement  *placement.Record // nil while it waits
}

func viewOf(s store.Standing, region string) TenantView {
	v := TenantView{Tenant: s.Tenant.Record(), HomeRegion: region}
	if s.Placement != nil {
		r := s.Placement.Record()
		v.Placement = &r
	}
	return v
}
