package access

import (
	"context"

	"berth/domain/authorization"
	"berth/ports/store"
)

// Tenants lists the tenants and where each stands, by id.
func (a *Access) Tenants(ctx context.Context, p store.Page) (store.List[TenantView], error) {
	var out store.List[TenantView]
	err := a.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		page, err := store.Listed(p, func(p store.Page) ([]*authorization.Tenant, error) { return r.Tenants.List(ctx, p) },
			(*authorization.Tenant).ID)
		if err != nil {
			return err
		}
		out.Next = page.Next
		out.Items, err = tenantViews(ctx, r, page.Items)
		return err
	})
	if err != nil {
		return store.List[TenantView]{}, err
	}
	return out, nil
}

// tenantViews reads all standings at once: whoever believes nothing, and holds nothing, differs everywhere.
func tenantViews(ctx context.Context, r *store.Roles, ts []*authorization.Tenant) ([]TenantView, error) {
	known := make([]store.Known, 0, len(ts))
	for _, t := range ts {
		known = append(known, store.Known{Tenant: t.ID()})
	}
	standings, _, err := r.Standings.Differing(ctx, "", known)
	if err != nil {
		return nil, err
	}
	views := make([]TenantView, 0, len(standings))
	for _, s := range standings {
		region, err := homeRegion(ctx, r, s)
		if err != nil {
			return nil, err
		}
		views = append(views, viewOf(s, region))
	}
	return views, nil
}
