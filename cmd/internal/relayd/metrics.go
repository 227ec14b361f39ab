package relayd

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"berth/application/relay"
)

// metrics are read from the node when somebody asks. No label names a tenant.
type metrics struct {
	node    *relay.Node
	gauges  []gauge
	counts  []count
	tenants *prometheus.Desc
	refused *prometheus.Desc
}

type gauge struct {
	*prometheus.Desc
	of func(relay.Status) float64
}

type count struct {
	*prometheus.Desc
	of func(relay.Counts) int64
}

func newMetrics(n *relay.Node) *metrics {
	m := &metrics{
		node: n, tenants: desc("tenants", "Tenants that concern the node, by what it may do with them.", "may"),
		refused: desc("refusals_total", "What devices were refused, by why.", "slug"),
	}
	for name, g := range map[string]struct {
		help string
		of   func(relay.Status) float64
	}{
		"registered":                           {"1 while this process is the node.", func(s relay.Status) float64 { return flag(s.Registered) }},
		"ready":                                {"1 while the node is registered and its lease runs.", func(s relay.Status) float64 { return flag(s.Ready()) }},
		"lease_left_seconds":                   {"What is left of the node lease; 0 once it is over.", func(s relay.Status) float64 { return s.LeaseLeft.Seconds() }},
		"lease_epoch":                          {"Epoch of the lease that is counted.", func(s relay.Status) float64 { return float64(s.LeaseEpoch) }},
		"heartbeat_generation":                 {"Heartbeat generation of this process.", func(s relay.Status) float64 { return float64(s.Generation) }},
		"assignments_version":                  {"Version of the assignments that are followed.", func(s relay.Status) float64 { return float64(s.AssignmentsVersion) }},
		"clock_skew_seconds":                   {"How far the control plane's wall clock is ahead.", func(s relay.Status) float64 { return s.Skew.Seconds() }},
		"certificate_accepted":                 {"1 while the node has a certificate that is accepted, as far as it knows.", func(s relay.Status) float64 { return flag(s.Identity.Lost == nil && s.Identity.Fingerprint != "") }},
		"certificate_expiry_timestamp_seconds": {"When the certificate ends; 0 where there is none.", expiry},
		"queue_length":                         {"Tenants that something is due of, now or later.", func(s relay.Status) float64 { return float64(s.Waiting) }},
		"open_guards":                          {"What is open and is closed when its tenant may not be read any more.", func(s relay.Status) float64 { return float64(s.Guarded) }},
		"used_tenants":                         {"Tenants that devices use, or used a moment ago: those that are kept up to date.", func(s relay.Status) float64 { return float64(s.Rooms) }},
		"open_engines":                         {"Tenants whose Engine is open.", func(s relay.Status) float64 { return float64(s.Engines) }},
		"sessions":                             {"Sessions of devices.", func(s relay.Status) float64 { return float64(s.Sessions) }},
	} {
		m.gauges = append(m.gauges, gauge{desc(name, g.help), g.of})
	}
	for name, c := range map[string]struct {
		help string
		of   func(relay.Counts) int64
	}{
		"beats_total":            {"Beats that were answered by a lease.", func(c relay.Counts) int64 { return c.Beats }},
		"request_failures_total": {"Requests to the control plane that were refused or not answered.", func(c relay.Counts) int64 { return c.Failures }},
		"snapshots_total":        {"Snapshots that were taken.", func(c relay.Counts) int64 { return c.Snapshots }},
		"deltas_total":           {"Deltas that were applied.", func(c relay.Counts) int64 { return c.Deltas }},
		"polls_total":            {"Polls that were answered.", func(c relay.Counts) int64 { return c.Polls }},
		"older_answers_total":    {"Answers refused as older than what is held.", func(c relay.Counts) int64 { return c.Older }},
		"denials_total":          {"Questions that the gate denied.", func(c relay.Counts) int64 { return c.Denied }},
		"fenced_closes_total":    {"What was open and was closed by the fence.", func(c relay.Counts) int64 { return c.Closed }},
		"lease_lapses_total":     {"Leases that ran out.", func(c relay.Counts) int64 { return c.Lapses }},
		"clock_jumps_total":      {"Jumps of a clock, after which everything is asked for anew.", func(c relay.Counts) int64 { return c.Jumps }},
		"copy_changes_total":     {"Changes of copies on the disk.", func(c relay.Counts) int64 { return c.Steps }},
		"reports_total":          {"Steps of migrations that were reported.", func(c relay.Counts) int64 { return c.Reports }},
		"rotations_total":        {"Certificates that were renewed.", func(c relay.Counts) int64 { return c.Rotations }},
		"sessions_total":         {"Sessions that began.", func(c relay.Counts) int64 { return c.Entered }},
		"sessions_ended_total":   {"Sessions that the node ended.", func(c relay.Counts) int64 { return c.Ended }},
		"publishes_total":        {"Messages that devices asked to be taken.", func(c relay.Counts) int64 { return c.Publishes }},
		"acknowledged_total":     {"Messages that were acknowledged.", func(c relay.Counts) int64 { return c.Acknowledged }},
		"revokes_total":          {"Revokes that owners asked for here, and that are committed.", func(c relay.Counts) int64 { return c.Revokes }},
		"enrolments_total":       {"Join tokens that were spent.", func(c relay.Counts) int64 { return c.Enrolments }},
	} {
		m.counts = append(m.counts, count{desc(name, c.help), c.of})
	}
	return m
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("berth_relay_"+name, help, labels, nil)
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

func expiry(s relay.Status) float64 {
	if s.Identity.NotAfter.IsZero() {
		return 0
	}
	return float64(s.Identity.NotAfter.Unix())
}

// Describe is for Prometheus.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, g := range m.gauges {
		out <- g.Desc
	}
	for _, c := range m.counts {
		out <- c.Desc
	}
	out <- m.tenants
	out <- m.refused
}

// Collect is for Prometheus.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	status, counts := m.node.Status(), m.node.Counts()
	for _, g := range m.gauges {
		out <- prometheus.MustNewConstMetric(g.Desc, prometheus.GaugeValue, g.of(status))
	}
	for _, c := range m.counts {
		out <- prometheus.MustNewConstMetric(c.Desc, prometheus.CounterValue, float64(c.of(counts)))
	}
	may := map[string]float64{"write": 0, "read": 0, "nothing": 0, "unused": 0}
	for _, t := range m.node.Tenants() {
		switch {
		case t.Write == nil:
			may["write"]++
		case t.Read == nil:
			may["read"]++
		case !t.Used:
			may["unused"]++
		default:
			may["nothing"]++
		}
	}
	for what, n := range may {
		out <- prometheus.MustNewConstMetric(m.tenants, prometheus.GaugeValue, n, what)
	}
	for slug, n := range m.node.Refusals() {
		out <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, float64(n), slug)
	}
}

// MetricsHandler serves the node's metrics, with those of the Go runtime and the process.
func MetricsHandler(n *relay.Node, s *Serving, version string) http.Handler {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "berth_build_info", Help: "1, labelled by what this process was built from.",
	}, []string{"version", "go"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	registry.MustRegister(newMetrics(n), newDeviceMetrics(s), build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
