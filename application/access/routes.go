package access

import (
	"context"

	"berth/domain/authorization"
	"berth/ports/store"
)

// Routes lists a tenant's routes, by id. Fault: NotFound tenant_not_found.
func (a *Access) Routes(ctx context.Context, in TenantPageRequest) (store.List[authorization.RouteRecord], error) {
	var out store.List[authorization.RouteRecord]
	err := a.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		if _, err := r.Tenants.Get(ctx, in.Tenant); err != nil {
			return err
		}
		page, err := store.Listed(in.Page, func(p store.Page) ([]authorization.Route, error) {
			return r.Routes.OfTenant(ctx, in.Tenant, p)
		}, routeKey)
		out = recordsOf(page, authorization.Route.Record)
		return err
	})
	return out, err
}
