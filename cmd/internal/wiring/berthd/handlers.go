package berthd

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/google/wire"

	"berth/adapters/httpapi"
	"berth/adapters/httpapi/agent"
	"berth/adapters/httpapi/device"
	"berth/adapters/httpapi/enroll"
	"berth/adapters/httpapi/market"
	"berth/adapters/httpapi/node"
	"berth/adapters/httpapi/operator"
	"berth/adapters/metrics"
	"berth/cmd/internal/config"
	"berth/cmd/internal/listen"
	"berth/ports/ids"
	"berth/ports/store"
)

// HandlerSet are the listeners' insides.
var HandlerSet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	wire.Struct(new(operator.Deps), "*"), wire.Struct(new(device.Deps), "*"), wire.Struct(new(node.Deps), "*"),
	wire.Struct(new(enroll.Deps), "*"), wire.Struct(new(market.Deps), "*"), provideMarketFailures,
	wire.Struct(new(agent.Deps), "*"), provideAgentFailures,
	wire.Struct(new(engines), "*"), wire.Struct(new(audiences), "*"),
	provideVersionText, provideAPILimits, provideDeviceLimits, provideNodeLimits, provideEnrollLimits, provideAPI, provideInternal, provideEnroll,
	provideMetricsPage,
	wire.Struct(new(Handlers), "*"),
)

// engines makes an engine for each listener.
type engines struct {
	Log      *slog.Logger
	Observer httpapi.Observer
	IDs      ids.Source
}

// audiences are those of the API listener.
type audiences struct {
	Operator operator.Deps
	Device   device.Deps
	Market   market.Deps
	Agent    agent.Deps
}

func (e engines) options(audience string) httpapi.EngineOptions {
	return httpapi.EngineOptions{
		Audience: audience, Log: e.Log, Observer: e.Observer, NewID: func() string { return e.IDs.New("req") },
	}
}

func provideVersionText(v Version) string { return string(v) }

func provideDeviceLimits(c config.Config) *httpapi.SourceLimits {
	return httpapi.NewSourceLimits(float64(c.DeviceRate), c.DeviceBurst)
}

// apiLimits are of all requests to the API listener, guesses at tokens and probes among them.
type apiLimits struct{ *httpapi.SourceLimits }

func provideAPILimits(c config.Config) apiLimits {
	return apiLimits{httpapi.NewSourceLimits(float64(c.SourceRate), c.SourceBurst)}
}

// enrollLimits are of all requests to the enrolment listener, guesses at join tokens among them.
type enrollLimits struct{ *httpapi.SourceLimits }

func provideEnrollLimits(c config.Config) enrollLimits {
	return enrollLimits{httpapi.NewSourceLimits(float64(c.EnrollRate), c.EnrollBurst)}
}

// provideMarketFailures are of wrong license keys only: a right one never pays for them (E3).
func provideMarketFailures(c config.Config) market.Failures {
	return market.Failures{SourceLimits: httpapi.NewSourceLimits(float64(c.MarketFailRate)/60, c.MarketFailBurst)}
}

// provideAgentFailures are of wrong tokens, keys and links only.
func provideAgentFailures(c config.Config) agent.Failures {
	return agent.Failures{SourceLimits: httpapi.NewSourceLimits(float64(c.MarketFailRate)/60, c.MarketFailBurst)}
}

func provideNodeLimits(c config.Config) *node.Limits {
	return node.NewLimits(float64(c.NodeRate), c.NodeBurst)
}

// provideAPI is ready while the database answers. A signer that is away stops new device tokens only, so that it is no
// reason to take a replica out; nor is a certificate authority, whose keys it has.
func provideAPI(e engines, l apiLimits, a audiences, s store.Store) API {
	options := e.options("api")
	options.Sources = l.SourceLimits
	engine := httpapi.NewEngine(options)
	operator.Mount(engine, a.Operator)
	device.Mount(engine, a.Device)
	market.Mount(engine, a.Market)
	agent.Mount(engine, a.Agent)
	httpapi.MountHealth(engine, map[string]func(context.Context) error{"database": s.Ping})
	return API{engine}
}

func provideInternal(e engines, d node.Deps) Internal {
	engine := httpapi.NewEngine(e.options("internal"))
	node.Mount(engine, d)
	return Internal{engine}
}

func provideEnroll(e engines, l enrollLimits, d enroll.Deps) Enroll {
	options := e.options("enroll")
	options.Sources = l.SourceLimits
	engine := httpapi.NewEngine(options)
	enroll.Mount(engine, d)
	return Enroll{engine}
}

func provideMetricsPage(m *metrics.Metrics) MetricsPage {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	return MetricsPage{listen.Unambiguous(mux)}
}
