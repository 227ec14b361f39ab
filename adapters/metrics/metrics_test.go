package metrics_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"berth/adapters/metrics"
)

func scrape(tb testing.TB, m *metrics.Metrics) string {
	tb.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		tb.Fatalf("metrics answered %d", w.Code)
	}
	return w.Body.String()
}

func expect(tb testing.TB, text string, lines ...string) {
	tb.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			tb.Errorf("the metrics lack %q", line)
		}
	}
}

// Every answer is counted by audience, operation and status, a refusal by its slug too, and an assertion's refusal apart.
func TestCounts(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1.2.3")
	m.Answered("api", "list-nodes", 200, "", .002)
	m.Answered("api", "list-nodes", 200, "", .002)
	m.Answered("api", "get-node", 404, "node_not_found", .001)
	m.AssertionRefused("assertion_expired")
	m.Gauge("berth_waiters", "Long polls.", func() float64 { return 7 })
	text := scrape(t, m)
	expect(t, text,
		`berth_http_requests_total{audience="api",operation="list-nodes",status="200"} 2`,
		`berth_http_requests_total{audience="api",operation="get-node",status="404"} 1`,
		`berth_http_refusals_total{audience="api",slug="node_not_found"} 1`,
		`berth_http_request_seconds_count{audience="api",operation="list-nodes"} 2`,
		`berth_assertion_refusals_total{slug="assertion_expired"} 1`,
		`berth_waiters 7`)
	for _, part := range []string{`berth_build_info{go="go`, `version="v1.2.3"} 1`, "go_goroutines ", "process_open_fds "} {
		if !strings.Contains(text, part) {
			t.Errorf("the metrics lack %q", part)
		}
	}
}

// Values that nobody foresaw, however many and from however many goroutines, do not make the registry grow without end.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 1000 {
				m.Answered("api", "op", 400, fmt.Sprintf("slug_%d_%d", g, i), 0)
			}
		})
	}
	all.Wait()
	m.Answered("api", "op", 400, "Not A \x00 Name", 0)
	m.Answered("api", "op", 12345, "", 0)
	text := scrape(t, m)
	if n := strings.Count(text, "berth_http_refusals_total{"); n > 501 {
		t.Fatalf("there are %d series of refusals", n)
	}
	expect(t, text, `berth_http_refusals_total{audience="api",slug="other"} 3501`,
		`berth_http_requests_total{audience="api",operation="op",status="other"} 1`)
}

// What was seen before the bound was reached goes on being counted by its own name.
func TestKnownNamesStay(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	m.AssertionRefused("assertion_replayed")
	for i := range 1000 {
		m.AssertionRefused(fmt.Sprintf("s%d", i))
	}
	m.AssertionRefused("assertion_replayed")
	expect(t, scrape(t, m), `berth_assertion_refusals_total{slug="assertion_replayed"} 2`)
}
