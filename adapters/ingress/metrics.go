package ingress

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the ingress's instruments. Each label takes values of the program only, and a bounded number of them.
type Metrics struct {
	requests    [len(methodNames)][len(classNames)]prometheus.Counter
	seconds     prometheus.Histogram
	refusals    *prometheus.CounterVec
	handshakes  *prometheus.CounterVec
	upstream    *prometheus.CounterVec
	claims      prometheus.Counter
	connections prometheus.Gauge
	tunnels     prometheus.Gauge
	reloads     *prometheus.GaugeVec
	failures    *prometheus.CounterVec

	mu    sync.Mutex
	slugs map[string]struct{}
}

//nolint:gochecknoglobals // immutable tables
var (
	methodNames = [...]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "other"}
	classNames  = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}
)

// mostSlugs bounds how many slugs are counted by their own names. There are about 40.
const mostSlugs = 200

// NewMetrics returns instruments that are registered; registering twice in one place panics.
func NewMetrics(to prometheus.Registerer) *Metrics {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "berth_ingress_requests_total", Help: "Requests of nodes, by method and class of the status.",
	}, []string{"method", "code"})
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		to.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		to.MustRegister(g)
		return g
	}
	m := &Metrics{
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "berth_ingress_request_seconds", Help: "Time from a request's header to the end of its answer; long polls wait up to 30 s.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}),
		refusals:    counter("berth_ingress_refusals_total", "Requests that the ingress itself refused, by slug.", "slug"),
		handshakes:  counter("berth_ingress_handshake_failures_total", "Connections that did not come about, by reason.", "reason"),
		upstream:    counter("berth_ingress_upstream_failures_total", "Requests that the control plane gave no answer to, by slug.", "slug"),
		claims:      prometheus.NewCounter(prometheus.CounterOpts{Name: "berth_ingress_identity_headers_total", Help: "Headers by which clients said who they are, taken out."}),
		connections: gauge("berth_ingress_connections", "Connections, handshakes included."),
		tunnels:     gauge("berth_ingress_tunnels", "WebSocket tunnels."),
		reloads: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "berth_ingress_last_reload_timestamp_seconds", Help: "When what=certificate, bundle or secrets was last read and found good.",
		}, []string{"what"}),
		failures: counter("berth_ingress_reload_failures_total", "Times that what=certificate, bundle or secrets was read and could not be used.", "what"),
		slugs:    map[string]struct{}{},
	}
	to.MustRegister(requests, m.seconds, m.claims, m.reloads)
	for i, method := range methodNames {
		for j, class := range classNames {
			m.requests[i][j] = requests.WithLabelValues(method, class)
		}
	}
	return m
}

// Observe shows figures that are asked for whenever metrics are read.
func (g *Ingress) Observe(to prometheus.Registerer) {
	figure := func(name, help string, read func() float64) {
		to.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	seconds := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return float64(t.Unix())
	}
	figure("berth_ingress_body_bytes", "Bytes of request bodies in flight.", func() float64 { return float64(g.memory.used.Load()) })
	figure("berth_ingress_trust_bundle_roots", "Roots that node certificates are verified against.", func() float64 {
		n, _ := g.o.Trust.Roots()
		return float64(n)
	})
	figure("berth_ingress_trust_bundle_expiry_timestamp_seconds", "When the last of these roots ends.", func() float64 {
		_, ends := g.o.Trust.Roots()
		return seconds(ends)
	})
	figure("berth_ingress_certificate_expiry_timestamp_seconds", "When the ingress's own certificate ends.", func() float64 {
		if c := g.o.Certificate(); c != nil && c.Leaf != nil {
			return seconds(c.Leaf.NotAfter)
		}
		return 0
	})
}

// Reloaded counts that what=certificate, bundle or secrets was read: at that time if it was good, else with an error.
func (m *Metrics) Reloaded(what string, at time.Time, err error) {
	if err != nil {
		m.failures.WithLabelValues(what).Inc()
		return
	}
	m.reloads.WithLabelValues(what).Set(float64(at.Unix()))
}

func (m *Metrics) answered(method string, status int, took time.Duration) {
	m.requests[indexOf(methodNames[:], method)][classOf(status)].Inc()
	m.seconds.Observe(took.Seconds())
}

// indexOf finds a name; the last stands for all others.
func indexOf(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return len(names) - 1
}

func classOf(status int) int {
	if class := status / 100; class > 0 && class < len(classNames) {
		return class
	}
	return 0
}

func (m *Metrics) refused(slug string)           { m.refusals.WithLabelValues(m.keep(slug)).Inc() }
func (m *Metrics) upstreamFailed(slug string)    { m.upstream.WithLabelValues(m.keep(slug)).Inc() }
func (m *Metrics) handshakeFailed(reason string) { m.handshakes.WithLabelValues(m.keep(reason)).Inc() }

// keep lets a label take only so many values, whatever defect elsewhere makes slugs.
func (m *Metrics) keep(slug string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.slugs[slug]; !known {
		if len(m.slugs) >= mostSlugs {
			return "other"
		}
		m.slugs[slug] = struct{}{}
	}
	return slug
}
