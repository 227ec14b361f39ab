package harness

import (
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPU is the processor time that berthd used so far.
func (s *Server) CPU() time.Duration {
	s.t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID()) + "/stat")
	must(s.t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, err := strconv.ParseInt(fields[11], 10, 64)
	must(s.t, err)
	system, err := strconv.ParseInt(fields[12], 10, 64)
	must(s.t, err)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go supports
	return time.Duration(user+system) * tick
}

// Waiting is how many long polls wait for a hint now.
func (s *Server) Waiting() int {
	s.t.Helper()
	for line := range strings.SplitSeq(s.MetricsText(), "\n") {
		if value, ok := strings.CutPrefix(line, "berth_hint_subscriptions "); ok {
			n, err := strconv.ParseFloat(value, 64)
			must(s.t, err)
			return int(n)
		}
	}
	s.t.Fatal("there is no metric berth_hint_subscriptions")
	return 0
}

// MetricsText is what the metrics listener shows.
func (s *Server) MetricsText() string {
	s.t.Helper()
	resp, err := s.client.Get(s.Metrics + "/metrics")
	must(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	must(s.t, err)
	return string(data)
}
