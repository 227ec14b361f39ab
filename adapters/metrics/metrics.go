// Package metrics counts what people who operate Berth want to see, for Prometheus. It is an Observer of the HTTP
// audiences and of trust.
//
// Every label comes from the program and not from a request: audiences, operations, statuses and slugs are fixed sets.
// All the same their number is bounded, so that no defect elsewhere can make the registry grow without end.
package metrics

import (
	"net/http"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is a registry and its instruments. Use New. Its methods are safe for concurrent use and never block.
type Metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	refusals   *prometheus.CounterVec
	assertions *prometheus.CounterVec
	names      bounded
}

// New returns metrics of a process of the given version, with those of the Go runtime and the process.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_requests_total", Help: "Answers, by audience, operation and HTTP status.",
		}, []string{"audience", "operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "berth_http_request_seconds", Help: "Time from a request to its answer; long polls wait up to 30 s.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"audience", "operation"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_http_refusals_total", Help: "Refused requests, by audience and slug of the problem.",
		}, []string{"audience", "slug"}),
		assertions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "berth_assertion_refusals_total", Help: "Node requests refused for their assertion or certificate, by slug.",
		}, []string{"slug"}),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "berth_build_info", Help: "1, labelled by what this process was built from.",
	}, []string{"version", "go"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	// The package collectors, which stands in for these two, links database/sql, and the ingress may not.
	runtimes := []prometheus.Collector{
		prometheus.NewGoCollector(),                                       //nolint:staticcheck // see above
		prometheus.NewProcessCollector(prometheus.ProcessCollectorOpts{}), //nolint:staticcheck // see above
	}
	m.registry.MustRegister(m.requests, m.seconds, m.refusals, m.assertions, build)
	m.registry.MustRegister(runtimes...)
	return m
}

// Answered counts one answer.
func (m *Metrics) Answered(audience, operation string, status int, slug string, seconds float64) {
	audience, operation = m.names.keep("audience", audience), m.names.keep("operation", operation)
	m.requests.WithLabelValues(audience, operation, statusLabel(status)).Inc()
	m.seconds.WithLabelValues(audience, operation).Observe(seconds)
	if slug != "" {
		m.refusals.WithLabelValues(audience, m.names.keep("slug", slug)).Inc()
	}
}

// AssertionRefused counts a node request whose assertion or certificate did not hold.
func (m *Metrics) AssertionRefused(slug string) {
	m.assertions.WithLabelValues(m.names.keep("slug", slug)).Inc()
}

// Gauge shows a figure that is asked for whenever metrics are read. Registering a name twice panics.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter shows a figure that only grows, in the same way.
func (m *Metrics) Counter(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Registry is where another adapter registers instruments of its own. Registering a name twice panics.
func (m *Metrics) Registry() prometheus.Registerer { return m.registry }

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError})
}

func statusLabel(status int) string {
	if status < 100 || status > 599 {
		return "other"
	}
	return strconv.Itoa(status)
}
