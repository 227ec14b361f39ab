package market

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/market"
	"berth/domain/fault"
	"berth/ports/clock"
	"berth/ports/store"
)

// Failures bound how often one address may fail to prove who it is.
type Failures struct{ *httpapi.SourceLimits }

// Deps are the use cases behind the customers' API.
type Deps struct {
	Version  string
	Market   *market.Market
	Store    store.Store // of repeated requests
	Clock    clock.Clock
	Failures Failures
}

// Mount serves the customers' API on an engine.
func Mount(e *gin.Engine, d Deps) huma.API {
	repeats := httpapi.Repeats{Store: d.Store, Clock: d.Clock, Scope: func(ctx context.Context) string {
		return "install/" + requestOf(ctx).caller.Install()
	}}
	api := httpapi.NewAPI(e, httpapi.Audience{
		Title: "Berth for customers", Prefix: "/v1/market", Version: d.Version,
		Scheme: &huma.SecurityScheme{
			Type: "apiKey", In: "header", Name: contract.HeaderLicenseKey,
			Description: "the license key, beside the header " + contract.HeaderInstallID,
		},
	}, d.authenticate, repeats.Middleware)
	huma.Register(api, op("list-apps", "GET", "/apps", "List the apps on the license, and how they stand", httpapi.OK), d.apps)
	huma.Register(api, op("submit-intent", "POST", "/apps/{app}/intents",
		"Ask for an install, an upgrade or an uninstall", httpapi.Accepted), d.submit)
	huma.Register(api, op("get-intent", "GET", "/intents/{intent}", "Show an intent; with wait, once it changes or ends", httpapi.OK), d.intent)
	huma.Register(api, op("set-installation", "PUT", "/apps/{app}/installation",
		"Tell whether the platform has installed an app", httpapi.OK), d.installation)
	huma.Register(api, op("get-agent", "GET", "/agent", "Show the agent, and the key that secrets are sealed to", httpapi.OK), d.agent)
	huma.Register(api, op("get-license", "GET", "/license", "Show the license, and what is used of it", httpapi.OK), d.license)
	return api
}

func op(id, method, path, summary string, status int) huma.Operation {
	return httpapi.Op(id, method, "/v1/market"+path, summary, status, nil)
}

type requestKey struct{}

type request struct {
	caller      market.Caller
	credentials market.Credentials
}

func requestOf(ctx context.Context) request {
	r, _ := ctx.Value(requestKey{}).(request)
	return r
}

// authenticate proves who asks. An address that failed too often is told so, instead of that it failed once more: a pair
// that is right never meets that bound, whoever fails beside it (E3).
func (d Deps) authenticate(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r := request{credentials: market.Credentials{
			Install: ctx.Header(contract.HeaderInstallID), Key: ctx.Header(contract.HeaderLicenseKey), Source: httpapi.Source(ctx),
		}}
		var err error
		if r.caller, err = d.Market.Authenticate(ctx.Context(), r.credentials); err != nil {
			httpapi.Refuse(api, ctx, d.refusal(r.credentials.Source, err))
			return
		}
		next(httpapi.With(context.WithValue(ctx.Context(), requestKey{}, r), ctx))
	}
}

func (d Deps) refusal(source string, err error) error {
	if fault.KindOf(err) != fault.Unauthenticated {
		return err
	}
	if limited := d.Failures.Take(source); limited != nil {
		return limited
	}
	return err
}

// still proves anew who waits.
func (d Deps) still(ctx context.Context) error {
	_, err := d.Market.Authenticate(ctx, requestOf(ctx).credentials)
	return err
}
