package node

import (
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
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
	d.certificates(api)
	d.trustBundle(e)
	return api
}

// metaReads is what an operation's metadata says where it changes nothing, so that its nonce is not spent.
const metaReads = "reads"

// op describes an operation by its row in the access table, which names it.
func op(row authorization.Operation, method, path, summary string, status int) huma.Operation {
	return httpapi.Op(string(row), method, "/internal/v1"+path, summary, status, map[string]any{
		metaReads: method == http.MethodGet,
	})
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
	body   [sha256.Size]byte // the digest that the assertion names
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
	if err := plain(r); err != nil {
		return nil, caller{}, err
	}
	held, data, err := httpapi.Held(ctx)
	if err != nil {
		return nil, caller{}, err
	}
	if err := plain(r); err != nil { // of trailers that were not announced, now that the body has ended
		return nil, caller{}, err
	}
	body := sha256.Sum256(data)
	reads, _ := ctx.Operation().Metadata[metaReads].(bool)
	who, ticket, err := d.Trust.CheckAssertion(ctx.Context(), trust.AssertionRequest{
		Headers: assertions(r.Header),
		Arrived: identity.Arrived{
			Method: r.Method, Target: r.RequestURI, Host: r.Host, BodySHA256: body,
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
	return held, caller{who, ticket, body}, nil
}

// plain refuses a body that is not the very bytes which the assertion's digest is of (I3).
func plain(r *http.Request) error {
	_, encoded := r.Header["Content-Encoding"]
	_, announced := r.Header["Trailer"]
	if encoded || announced || len(r.Trailer) > 0 {
		return fault.New(fault.Forbidden, "encoding_refused", "content encodings and trailers are refused here")
	}
	return nil
}

// assertions are all values of the assertion's header, with those of every spelling that some program takes for it (I2);
// none where it is not there in its own, whatever else is.
func assertions(header http.Header) []string {
	values := slices.Clip(header.Values(contract.HeaderAssertion))
	if len(values) == 0 {
		return nil
	}
	for name, others := range header {
		if len(name) == len(contract.HeaderAssertion) && name != contract.HeaderAssertion &&
			strings.EqualFold(strings.ReplaceAll(name, "_", "-"), contract.HeaderAssertion) {
			values = append(values, others...)
		}
	}
	return values
}

// still checks the credential again before a long poll answers (I4).
func (d Deps) still(ctx context.Context) error {
	return d.Trust.RecheckCaller(ctx, callerOf(ctx).Caller)
}

// stillWhile is still for a poll that waits; one that does not has no use for it.
func (d Deps) stillWhile(wait time.Duration) func(context.Context) error {
	if wait <= 0 {
		return nil
	}
	return d.still
}

// waiting bounds a long poll by its wait and by the server's stop.
func waiting(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	return httpapi.Waiting(ctx, wait+time.Second)
}
