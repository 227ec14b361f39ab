package access

import (
	"context"

	"berth/domain/authorization"
	"berth/ports/store"
)

// TenantPageRequest asks for a page of something of one tenant.
type TenantPageRequest struct {
	Tenant string
	Page   store.Page
}

// Principals lists a tenant's devices, revoked ones included, by id. Fault: NotFound tenant_not_found.
func (a *Access) Principals(ctx context.Context, in TenantPageRequest) (store.List[authorization.PrincipalRecord], error) {
	var out store.List[authorization.PrincipalRecord]
	err := a.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		if _, err := r.Tenants.Get(ctx, in.Tenant); err != nil {
			return err
		}
		page, err := store.Listed(in.Page, func(p store.Page) ([]*authorization.Principal, error) {
			return r.Principals.OfTenant(ctx, in.Tenant, p)
		}, principalKey)
		out = recordsOf(page, (*authorization.Principal).Record)
		return err
	})
	return out, err
}

func recordsOf[T, R any](page store.List[T], record func(T) R) store.List[R] {
	out := store.List[R]{Items: make([]R, 0, len(page.Items)), Next: page.Next}
	for _, item := range page.Items {
		out.Items = append(out.Items, record(item))
	}
	return out
}
