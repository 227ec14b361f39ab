package harness

import (
	"strconv"
	"strings"

	"berth/e2e/lab"
)

// Container is the one that a replica runs in.
func (s *Server) Container() *lab.Container { return s.process.(*contained).container }

// Metric is a metric of the node without labels, as it is now; -1 where there is none.
func (r *Relay) Metric(name string) float64 {
	r.tb.Helper()
	for line := range strings.Lines(r.Text("/metrics", "*/*")) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			must(r.tb, err)
			return n
		}
	}
	return -1
}
