package node

import (
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/access"
	"berth/application/fleet"
	"berth/application/trust"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
)

// Deps are the use cases behind the nodes' API.
type Deps struct {
	Version string
	Fleet   *fleet.Fleet
	Access  *access.Access
	Trust   *trust.Trust
	Limits  *Limits
}

// Mount serves the nodes' API on an engine.
func Mount(e *gin.Engine, d Deps) huma.API {
	api := httpapi.NewAPI(e, httpapi.Audience{
		Title: "Berth for relay nodes", Prefix: "/internal/v1", Version: d.Version,
		Scheme: &huma.SecurityScheme{
			Type: "apiKey", In: "header", Name: contract.HeaderAssertion, Description: "made by the ingress for each request",
		},
	}, d.authenticate)
	d.life(api)
	d.reports(api)
	d.authorization(api)
	d.others(api)
	return api
}

// What a request's operation says of it.
const (
	metaOperation = "access" // its row in the access table
	metaReads     = "reads"  // it changes nothing, so its nonce is not spent
)

// op describes an operation by its row in the access table.
func op(row authorization.Operation, method, path, summary string, status int) huma.Operation {
	o := httpapi.Op(string(row), method, "/internal/v1"+path, summary, status, map[string]any{
		metaOperation: row, metaReads: method == http.MethodGet,
	})
	return o
}

// reading marks a POST that changes nothing.
func reading(o huma.Operation) huma.Operation {
	o.Metadata[metaReads] = true
	return o
}

type callerKey struct{}

type caller struct {
	identity.Caller
	ticket store.Ticket
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// authenticate is I4: the assertion, the credential, the node of the path, the node's rate.
func (d Deps) authenticate(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		held, c, err := d.check(ctx)
		if err != nil {
			httpapi.Refuse(api, ctx, err)
			return
		}
		next(httpapi.With(context.WithValue(ctx.Context(), callerKey{}, c), held))
	}
}

func (d Deps) check(ctx huma.Context) (huma.Context, caller, error) {
	r := humagin.Unwrap(ctx).Request
	if r.Header.Get("Content-Encoding") != "" || len(r.Trailer) > 0 || r.Header.Get("Trailer") != "" {
		return nil, caller{}, fault.New(fault.Forbidden, "encoding_refused", "content encodings and trailers are refused here")
	}
	held, data, err := httpapi.Held(ctx)
	if err != nil {
		return nil, caller{}, err
	}
	reads, _ := ctx.Operation().Metadata[metaReads].(bool)
	who, ticket, err := d.Trust.CheckAssertion(ctx.Context(), trust.AssertionRequest{
		Headers: r.Header.Values(contract.HeaderAssertion),
		Arrived: identity.Arrived{
			Method: r.Method, Target: r.RequestURI, Host: r.Host, BodySHA256: sha256.Sum256(data),
		},
		Mutating: !reads,
	})
	if err != nil {
		return nil, caller{}, err
	}
	if node := ctx.Param("node"); node != "" {
		if err := d.Trust.CheckPathNode(who, node); err != nil {
			return nil, caller{}, err
		}
	}
	if err := d.Limits.Take(who.Node); err != nil {
		return nil, caller{}, err
	}
	return held, caller{who, ticket}, nil
}

// still checks the credential again before a long poll answers (I4).
func (d Deps) still(ctx context.Context) error {
	return d.Trust.RecheckCaller(ctx, callerOf(ctx).Caller)
}

// waiting bounds a long poll by its wait and by the server's stop.
func waiting(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	return httpapi.Waiting(ctx, wait+time.Second)
}
