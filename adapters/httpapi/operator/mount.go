package operator

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"berth/adapters/httpapi"
	"berth/application/access"
	"berth/application/catalog"
	"berth/application/desired"
	"berth/application/fleet"
	"berth/application/licensing"
	"berth/application/trust"
	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/clock"
	"berth/ports/store"
)

// Deps are the use cases behind the operators' API.
type Deps struct {
	Version   string
	Fleet     *fleet.Fleet
	Access    *access.Access
	Trust     *trust.Trust
	Licensing *licensing.Licensing
	Desired   *desired.Desired
	Catalog   *catalog.Catalog
	Store     store.Store // of repeated requests
	Clock     clock.Clock
}

// Mount serves the operators' API on an engine.
func Mount(e *gin.Engine, d Deps) huma.API {
	repeats := httpapi.Repeats{Store: d.Store, Clock: d.Clock, Scope: func(ctx context.Context) string {
		return "operator/" + actor(ctx).ID
	}}
	api := httpapi.NewAPI(e, httpapi.Audience{
		Title: "Berth for operators", Prefix: "/api/v1", Version: d.Version,
		Scheme: &huma.SecurityScheme{Type: "http", Scheme: "bearer", Description: "an operator token"},
	}, d.authenticate, repeats.Middleware, httpapi.Conditional)
	d.regions(api)
	d.nodes(api)
	d.credentials(api)
	d.enrolment(api)
	d.tenants(api)
	mayBeNull(api, "Tenant", "placement")
	d.devices(api)
	d.migrations(api)
	d.customers(api)
	d.licenses(api)
	d.deployments(api)
	d.keys(api)
	d.tokens(api)
	d.apps(api)
	d.releases(api)
	d.registries(api)
	d.audit(api)
	return api
}

const roleMeta = "role"

func op(role identity.Role, id, method, path, summary string, status int) huma.Operation {
	o := httpapi.Op(id, method, "/api/v1"+path, summary, status, map[string]any{roleMeta: role})
	o.Description = "Role: " + string(role) + "."
	return o
}

// showing names what an answer shows once, so that it is not recorded.
func showing(o huma.Operation, fields ...string) huma.Operation {
	o.Metadata[httpapi.ShownOnce] = fields
	return o
}

type operatorKey struct{}

type operator struct {
	trust.Operator
	source, clear string
}

func operatorOf(ctx context.Context) trust.Operator {
	o, _ := ctx.Value(operatorKey{}).(operator)
	return o.Operator
}

// actor is who the audit log names.
func actor(ctx context.Context) audit.Actor {
	o, _ := ctx.Value(operatorKey{}).(operator)
	return audit.Actor{Kind: audit.ActorOperator, ID: o.ID, Source: o.source}
}

func (d Deps) authenticate(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		who, err := d.operator(ctx)
		if err != nil {
			httpapi.Refuse(api, ctx, err)
			return
		}
		next(httpapi.With(context.WithValue(ctx.Context(), operatorKey{}, who), ctx))
	}
}

func (d Deps) operator(ctx huma.Context) (operator, error) {
	clear, ok := strings.CutPrefix(ctx.Header("Authorization"), "Bearer ")
	if !ok {
		return operator{}, fault.New(fault.Unauthenticated, "token_missing", "give an operator token").
			Curable("send Authorization: Bearer <operator token>")
	}
	o, err := d.Trust.CheckOperator(ctx.Context(), clear)
	if err != nil {
		return operator{}, err
	}
	required, _ := ctx.Operation().Metadata[roleMeta].(identity.Role)
	if err := identity.CheckRole(o.Role, required); err != nil {
		return operator{}, err
	}
	return operator{o, httpapi.Source(ctx), clear}, nil
}

// still checks the token again before a long poll answers.
func (d Deps) still(ctx context.Context) error {
	o, _ := ctx.Value(operatorKey{}).(operator)
	_, err := d.Trust.CheckOperator(ctx, o.clear)
	return err
}
