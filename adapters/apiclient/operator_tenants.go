package apiclient

import (
	"context"

	"berth/adapters/contract"
)

// CreateTenant makes a tenant and places it.
func (o Operator) CreateTenant(ctx context.Context, in contract.NewTenant) (contract.Tenant, error) {
	return post[contract.Tenant](ctx, o.c, api+"/tenants", in)
}

// Tenant shows a tenant.
func (o Operator) Tenant(ctx context.Context, tenant string) (contract.Tenant, error) {
	return get[contract.Tenant](ctx, o.c, api+"/tenants"+seg(tenant), nil)
}

// Tenants lists tenants by id.
func (o Operator) Tenants(ctx context.Context, p Page) (contract.Tenants, error) {
	return get[contract.Tenants](ctx, o.c, api+"/tenants", p.query())
}

// Suspend admits none of a tenant's devices any more.
func (o Operator) Suspend(ctx context.Context, tenant string) (contract.Tenant, error) {
	return post[contract.Tenant](ctx, o.c, api+"/tenants"+seg(tenant)+"/suspend", nil)
}

// Resume admits them again.
func (o Operator) Resume(ctx context.Context, tenant string) (contract.Tenant, error) {
	return post[contract.Tenant](ctx, o.c, api+"/tenants"+seg(tenant)+"/resume", nil)
}

// PairingCode makes a code that pairs one device, in the role owner or member.
func (o Operator) PairingCode(ctx context.Context, tenant, role string) (contract.PairingCode, error) {
	in := contract.NewPairingCode{Role: role}
	return post[contract.PairingCode](ctx, o.c, api+"/tenants"+seg(tenant)+"/pairing-codes", in)
}

// Principals lists a tenant's devices by id.
func (o Operator) Principals(ctx context.Context, tenant string, p Page) (contract.Principals, error) {
	return get[contract.Principals](ctx, o.c, api+"/tenants"+seg(tenant)+"/principals", p.query())
}

// Revoke revokes a device everywhere at once.
func (o Operator) Revoke(ctx context.Context, tenant, principal string) (contract.Revoked, error) {
	return post[contract.Revoked](ctx, o.c, api+"/tenants"+seg(tenant)+"/principals"+seg(principal)+"/revoke", nil)
}

// CreateRoute makes a route.
func (o Operator) CreateRoute(ctx context.Context, tenant, id string) (contract.TenantRoute, error) {
	in := contract.NewRoute{ID: id}
	return post[contract.TenantRoute](ctx, o.c, api+"/tenants"+seg(tenant)+"/routes", in)
}

// Routes lists a tenant's routes by id.
func (o Operator) Routes(ctx context.Context, tenant string, p Page) (contract.TenantRoutes, error) {
	return get[contract.TenantRoutes](ctx, o.c, api+"/tenants"+seg(tenant)+"/routes", p.query())
}
