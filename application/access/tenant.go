package access

import (
	"context"

	"berth/ports/store"
)

// Tenant returns a tenant and where it stands. Fault: NotFound tenant_not_found.
func (a *Access) Tenant(ctx context.Context, id string) (TenantView, error) {
	var view TenantView
	err := a.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		view, err = tenantView(ctx, r, id)
		return err
	})
	if err != nil {
		return TenantView{}, err
	}
	return view, nil
}

func tenantView(ctx context.Context, r *store.Roles, id string) (TenantView, error) {
	s, err := r.Standings.Get(ctx, id)
	if err != nil {
		return TenantView{}, err
	}
	region, err := homeRegion(ctx, r, s)
	if err != nil {
		return TenantView{}, err
	}
	return viewOf(s, region), nil
}
