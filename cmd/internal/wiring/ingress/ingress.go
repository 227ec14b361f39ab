// Package ingress puts an ingress together, by itself or within berthd: the same ingress either way. wire writes the
// injectors; run make generate after a change to a provider.
package ingress

import (
	"net/http"

	"github.com/google/wire"
	"github.com/prometheus/client_golang/prometheus"

	"berth/adapters/clock/systemclock"
	"berth/adapters/ids/ulidids"
	"berth/adapters/metrics"
	"berth/cmd/internal/ingressd"
	"berth/ports/clock"
	"berth/ports/ids"
)

// Version is what the process was built from, for people.
type Version string

// Process is an ingress that is a process of its own, with the page of its metrics.
type Process struct {
	*ingressd.Process
	Metrics MetricsPage
}

// MetricsPage serves the metrics, and says whether the process is well.
type MetricsPage struct{ http.Handler }

// Set is the ingress.
var Set = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	ingressd.NewTrust, ingressd.OpenFiles, ingressd.NewUpstream, ingressd.NewMetrics, ingressd.NewIngress, ingressd.New,
)

// GroundSet is what an ingress in a process of its own stands on.
var GroundSet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	provideClock, wire.Bind(new(clock.Clock), new(*systemclock.Clock)),
	ulidids.New, wire.Bind(new(ids.Source), new(*ulidids.Source)),
	provideMetrics, provideRegistry, wire.Struct(new(ingressd.Ground), "*"),
)

func provideClock(c ingressd.Config) (*systemclock.Clock, error) {
	return systemclock.Shifted(c.ClockOffset)
}

func provideMetrics(v Version) *metrics.Metrics { return metrics.New(string(v)) }

func provideRegistry(m *metrics.Metrics) prometheus.Registerer { return m.Registry() }

// provideMetricsPage is ready while nodes can be told from others.
func provideMetricsPage(m *metrics.Metrics, p *ingressd.Process) MetricsPage {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if p.Ready() {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		http.Error(w, "no root of node certificates is known yet", http.StatusServiceUnavailable)
	})
	return MetricsPage{mux}
}
