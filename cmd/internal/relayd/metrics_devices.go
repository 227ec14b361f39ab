package relayd

import (
	"github.com/prometheus/client_golang/prometheus"

	"berth/adapters/connect"
)

// deviceMetrics are read from what serves devices when somebody asks. No label names a tenant or a device.
type deviceMetrics struct {
	serving *Serving
	all     []deviceMetric
}

type deviceMetric struct {
	*prometheus.Desc
	kind prometheus.ValueType
	of   func(connect.Counts, connect.ServerCounts) int64
}

func newDeviceMetrics(s *Serving) *deviceMetrics {
	m := &deviceMetrics{serving: s}
	add := func(kind prometheus.ValueType, name, help string, of func(connect.Counts, connect.ServerCounts) int64) {
		m.all = append(m.all, deviceMetric{desc("device_"+name, help), kind, of})
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	add(gauge, "connections", "WebSockets of devices that are open.", func(c connect.Counts, _ connect.ServerCounts) int64 { return c.Connections })
	add(gauge, "transfers", "Attachments that are on their way.", func(c connect.Counts, _ connect.ServerCounts) int64 { return c.Transfers })
	add(counter, "connections_opened_total", "WebSockets that were opened.", func(c connect.Counts, _ connect.ServerCounts) int64 { return c.Opened })
	add(counter, "forwarded_total", "Requests that were forwarded to peers.", func(c connect.Counts, _ connect.ServerCounts) int64 { return c.Forwarded })
	add(counter, "stalled_total", "WebSockets that were cut because the device took nothing.", func(c connect.Counts, _ connect.ServerCounts) int64 { return c.Stalled })
	add(counter, "silent_total", "WebSockets that were cut because nothing came.", func(c connect.Counts, _ connect.ServerCounts) int64 { return c.Silent })
	add(counter, "malformed_total", "WebSockets that were closed because of what the device sent.", func(c connect.Counts, _ connect.ServerCounts) int64 { return c.Malformed })
	add(counter, "accepted_total", "TCP connections that were let in to their handshake.", func(_ connect.Counts, s connect.ServerCounts) int64 { return s.Accepted })
	add(counter, "crowded_total", "TCP connections that were closed because there were too many.", func(_ connect.Counts, s connect.ServerCounts) int64 { return s.Crowded })
	add(counter, "unsecured_total", "TCP connections that had no TLS handshake.", func(_ connect.Counts, s connect.ServerCounts) int64 { return s.Unsecured })
	return m
}

// Describe is for Prometheus.
func (m *deviceMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, one := range m.all {
		out <- one.Desc
	}
}

// Collect is for Prometheus.
func (m *deviceMetrics) Collect(out chan<- prometheus.Metric) {
	c, s := m.serving.Handler.Counts(), connect.ServerCounts{}
	if m.serving.Devices != nil {
		s = m.serving.Devices.Counts()
	}
	for _, one := range m.all {
		out <- prometheus.MustNewConstMetric(one.Desc, one.kind, float64(one.of(c, s)))
	}
}
