package agent

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/desired"
	"berth/domain/fault"
	"berth/ports/tokens"
)

// Failures bound how often one address may fail to prove who it is, or guess at tokens and links.
type Failures struct{ *httpapi.SourceLimits }

// Deps are the use cases behind the agents' API.
type Deps struct {
	Version  string
	Desired  *desired.Desired
	Failures Failures
}

const prefix = "/agent/v1"

// Mount serves the agents' API on an engine.
func Mount(e *gin.Engine, d Deps) huma.API {
	api := httpapi.NewAPI(e, httpapi.Audience{
		Title: "Berth for agents", Prefix: prefix, Version: d.Version,
		Scheme: &huma.SecurityScheme{
			Type: "http", Scheme: "bearer", BearerFormat: "JWT",
			Description: "signed by the agent's own key for this request: its method, its target and its body",
		},
	}, d.authenticate)
	huma.Register(api, op("enrol-agent", "POST", "/enroll", "Become the agent of a deployment by the token of a package",
		httpapi.OK, map[string]any{metaOpen: true}), d.enroll)
	huma.Register(api, op("report", "POST", "/reports", "Tell what runs; a sequence that was taken already changes nothing",
		httpapi.NoContent, nil), d.report)
	huma.Register(api, op("prove", "POST", "/proofs", "Prove which desired state is held, where the control plane is behind",
		httpapi.NoContent, nil), d.prove)
	d.direct(e, api)
	d.packages(e)
	return api
}

// metaOpen marks what needs no agent.
const metaOpen = "open"

func op(id, method, path, summary string, status int, meta map[string]any) huma.Operation {
	return httpapi.Op(id, method, prefix+path, summary, status, meta)
}

type callerKey struct{}

func callerOf(ctx context.Context) desired.AgentCaller {
	c, _ := ctx.Value(callerKey{}).(desired.AgentCaller)
	return c
}

// authenticate proves which agent asks (G1).
func (d Deps) authenticate(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if open, _ := ctx.Operation().Metadata[metaOpen].(bool); open {
			next(ctx)
			return
		}
		held, data, err := httpapi.Held(ctx)
		if err != nil {
			httpapi.Refuse(api, ctx, err)
			return
		}
		r := humagin.Unwrap(ctx).Request
		caller, err := d.Desired.AuthenticateAgent(ctx.Context(), bearer(r.Header.Get("Authorization")), tokens.AgentRequest{
			Method: r.Method, URL: r.RequestURI, Body: sha256.Sum256(data),
		})
		if err != nil {
			httpapi.Refuse(api, ctx, d.refusal(httpapi.Source(ctx), err))
			return
		}
		next(httpapi.With(context.WithValue(ctx.Context(), callerKey{}, caller), held))
	}
}

func bearer(header string) string {
	token, _ := strings.CutPrefix(header, contract.AgentTokenScheme)
	return token
}

// refusal takes what failed from the bucket of its source: an empty one answers 429 to failures only.
func (d Deps) refusal(source string, err error) error {
	switch fault.KindOf(err) {
	case fault.Unauthenticated, fault.NotFound, fault.Gone:
		if limited := d.Failures.Take(source); limited != nil {
			return limited
		}
	case fault.Internal, fault.Invalid, fault.Forbidden, fault.AlreadyExists, fault.Conflict, fault.Exhausted, fault.Unavailable:
	}
	return err
}
