package operator

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/access"
	"berth/domain/authorization"
	"berth/domain/identity"
)

type tenantOut struct{ Body contract.Tenant }

func (d Deps) tenants(api huma.API) {
	huma.Register(api, op(identity.RoleOperator, "create-tenant", "POST", "/tenants", "Create a tenant and place it", httpapi.Created),
		func(ctx context.Context, in *struct{ Body contract.NewTenant }) (*tenantOut, error) {
			return seen(d.Access.CreateTenant(ctx, access.CreateTenantRequest{
				Actor: actor(ctx), ID: in.Body.ID, HomeRegion: in.Body.HomeRegion,
			}))
		})
	huma.Register(api, op(identity.RoleViewer, "list-tenants", "GET", "/tenants", "List the tenants", httpapi.OK), d.listTenants)
	huma.Register(api, op(identity.RoleViewer, "get-tenant", "GET", "/tenants/{tenant}", "Show a tenant", httpapi.OK),
		func(ctx context.Context, in *TenantPath) (*tenantOut, error) {
			return seen(d.Access.Tenant(ctx, in.Tenant))
		})
	huma.Register(api, op(identity.RoleOperator, "suspend-tenant", "POST", "/tenants/{tenant}/suspend", "Admit none of a tenant's devices", httpapi.OK),
		func(ctx context.Context, in *TenantPath) (*tenantOut, error) {
			return seen(d.Access.Suspend(ctx, access.SuspendRequest{Actor: actor(ctx), Tenant: in.Tenant}))
		})
	huma.Register(api, op(identity.RoleOperator, "resume-tenant", "POST", "/tenants/{tenant}/resume", "Admit a tenant's devices again", httpapi.OK),
		func(ctx context.Context, in *TenantPath) (*tenantOut, error) {
			return seen(d.Access.Resume(ctx, access.ResumeRequest{Actor: actor(ctx), Tenant: in.Tenant}))
		})
}

// mayBeNull says in the document that a tenant without a place has null there.
func mayBeNull(api huma.API, schema, property string) {
	s := api.OpenAPI().Components.Schemas.Map()[schema]
	was := *s.Properties[property]
	s.Properties[property] = &huma.Schema{
		Description: was.Description, AnyOf: []*huma.Schema{{Ref: was.Ref}, {Type: "null"}},
	}
}

func (d Deps) listTenants(ctx context.Context, in *httpapi.Paging) (*struct{ Body contract.Tenants }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	list, err := d.Access.Tenants(ctx, p)
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Tenants }{contract.Tenants{
		Tenants: httpapi.Each(list.Items, tenant), Next: httpapi.Cursor(list.Next),
	}}, nil
}

func seen(v access.TenantView, err error) (*tenantOut, error) {
	if err != nil {
		return nil, err
	}
	return &tenantOut{tenant(v)}, nil
}

func tenant(v access.TenantView) contract.Tenant {
	t := v.Tenant
	out := contract.Tenant{
		ID: t.ID, HomeRegion: v.HomeRegion, Status: string(t.Status), CreatedAt: t.CreatedAt,
		Authorization: contract.TenantAuthorization{Status: string(t.Status), Revision: t.Revision},
	}
	if p := v.Placement; p != nil {
		out.Placement = &contract.TenantPlacement{
			State: p.State.String(), Node: p.Node, Generation: p.Generation, Version: p.Version, Migration: p.Migration,
		}
	}
	return out
}

type tenantPageIn struct {
	TenantPath
	httpapi.Paging
}

// PrincipalPath is a principal of a tenant in a path.
type PrincipalPath struct {
	TenantPath
	Principal string `path:"principal" maxLength:"64"`
}

// devices are the operations on a tenant's devices and routes.
func (d Deps) devices(api huma.API) {
	huma.Register(api, showing(op(identity.RoleOperator, "create-pairing-code", "POST", "/tenants/{tenant}/pairing-codes",
		"Make a code that pairs one device", httpapi.Created), "code"), d.pairingCode)
	huma.Register(api, op(identity.RoleViewer, "list-principals", "GET", "/tenants/{tenant}/principals", "List a tenant's devices", httpapi.OK), d.listPrincipals)
	huma.Register(api, op(identity.RoleOperator, "revoke-principal", "POST", "/tenants/{tenant}/principals/{principal}/revoke",
		"Revoke a device everywhere at once", httpapi.OK), d.revoke)
	huma.Register(api, op(identity.RoleViewer, "list-routes", "GET", "/tenants/{tenant}/routes", "List a tenant's routes", httpapi.OK), d.listRoutes)
	huma.Register(api, op(identity.RoleOperator, "create-route", "POST", "/tenants/{tenant}/routes", "Make a route", httpapi.Created),
		func(ctx context.Context, in *struct {
			TenantPath
			Body contract.NewRoute
		}) (*struct{ Body contract.TenantRoute }, error) {
			r, err := d.Access.CreateRoute(ctx, access.CreateRouteRequest{Actor: actor(ctx), Tenant: in.Tenant, ID: in.Body.ID})
			if err != nil {
				return nil, err
			}
			return &struct{ Body contract.TenantRoute }{route(r)}, nil
		})
}

type pairingCodeIn struct {
	TenantPath
	Body contract.NewPairingCode
}

func (d Deps) pairingCode(ctx context.Context, in *pairingCodeIn) (*struct{ Body contract.PairingCode }, error) {
	c, err := d.Access.PairingCode(ctx, access.PairingCodeRequest{
		Actor: actor(ctx), Tenant: in.Tenant, Role: authorization.Role(in.Body.Role),
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.PairingCode }{contract.PairingCode(c)}, nil
}

func (d Deps) listPrincipals(ctx context.Context, in *tenantPageIn) (*struct{ Body contract.Principals }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	list, err := d.Access.Principals(ctx, access.TenantPageRequest{Tenant: in.Tenant, Page: p})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Principals }{contract.Principals{
		Principals: httpapi.Each(list.Items, principal), Next: httpapi.Cursor(list.Next),
	}}, nil
}

func principal(p authorization.PrincipalRecord) contract.Principal {
	return contract.Principal{
		ID: p.ID, Kind: string(p.Kind), Role: string(p.Role), Status: string(p.Status), Name: p.Name,
		CreatedAt: p.CreatedAt, RevokedAt: when(p.RevokedAt),
	}
}

func (d Deps) revoke(ctx context.Context, in *PrincipalPath) (*struct{ Body contract.Revoked }, error) {
	a, err := d.Access.RevokeByOperator(ctx, access.RevokeByOperatorRequest{
		Actor: actor(ctx), Tenant: in.Tenant, Principal: in.Principal,
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Revoked }{contract.Revoked{Revision: a.Revision, RevokedHandles: a.Handles}}, nil
}

func (d Deps) listRoutes(ctx context.Context, in *tenantPageIn) (*struct{ Body contract.TenantRoutes }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	list, err := d.Access.Routes(ctx, access.TenantPageRequest{Tenant: in.Tenant, Page: p})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.TenantRoutes }{contract.TenantRoutes{
		Routes: httpapi.Each(list.Items, route), Next: httpapi.Cursor(list.Next),
	}}, nil
}

func route(r authorization.RouteRecord) contract.TenantRoute {
	return contract.TenantRoute{ID: r.ID, CreatedAt: r.CreatedAt}
}
