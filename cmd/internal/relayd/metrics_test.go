package relayd_test

import (
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"berth/adapters/clock/systemclock"
	"berth/adapters/connect"
	"berth/application/relay"
	"berth/cmd/internal/relayd"
	"berth/domain/placement"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine/enginetest"
	"berth/ports/ids/idstest"
)

// The metrics say what alarms are made of, and no label names a tenant.
func TestMetrics(t *testing.T) {
	t.Parallel()
	clock, err := systemclock.New()
	if err != nil {
		t.Fatal(err)
	}
	terms := placement.DefaultLeaseTerms()
	control := authoritytest.New(clock, terms, terms)
	client := &authoritytest.Client{Control: control, Node: "n0"}
	disk := enginetest.NewMemory()
	n, err := relay.New(relay.DefaultSettings(authoritytest.SPIFFEID("n0")), relay.Ports{
		Clock: clock, IDs: idstest.New(1), Log: slog.New(slog.DiscardHandler), Disk: disk, Identity: disk, Tokens: fixed(""),
		Authority: relay.Authority{
			Leases: client, Assignments: client, Authorizations: client, Migrations: client, Credentials: client, Enrolment: client,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := connect.New(connect.Options{Limits: connect.DefaultLimits(), Log: slog.New(slog.DiscardHandler)}, connect.Of(n), nil)
	defer handler.Stop(t.Context())
	if _, err := n.Authenticate("no token"); err == nil {
		t.Fatal("it knows no keys")
	}
	server := httptest.NewRecorder()
	relayd.MetricsHandler(n, &relayd.Serving{Handler: handler}, "v1").ServeHTTP(server, httptest.NewRequest("GET", "/metrics", nil))
	text, _ := io.ReadAll(server.Body)
	for _, line := range []string{
		"berth_relay_ready 0", "berth_relay_registered 0", "berth_relay_lease_left_seconds 0", `berth_relay_tenants{may="write"} 0`,
		"berth_relay_clock_jumps_total 0", "berth_relay_certificate_expiry_timestamp_seconds 0", `version="v1"`, "go_goroutines ",
		"berth_relay_device_connections 0", "berth_relay_device_stalled_total 0", "berth_relay_device_accepted_total 0",
		"berth_relay_sessions 0", "berth_relay_open_engines 0", "berth_relay_used_tenants 0", "berth_relay_publishes_total 0",
		"berth_relay_acknowledged_total 0", `berth_relay_tenants{may="unused"} 0`, `berth_relay_refusals_total{slug="keys_unknown"} 1`,
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if strings.Contains(string(text), "tenant=") {
		t.Error("a label names a tenant")
	}
}
