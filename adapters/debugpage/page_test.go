package debugpage_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"berth/adapters/debugpage"
	"berth/application/relay"
	"berth/domain/fault"
	"berth/domain/placement"
)

type node struct {
	status  relay.Status
	tenants []relay.TenantStatus
}

func (n node) Status() relay.Status          { return n.status }
func (n node) Tenants() []relay.TenantStatus { return n.tenants }

func sample() node {
	hidden := fault.New(fault.Unavailable, "lease_run_out", "the node lease ran out").Because(errors.New("a cause for the log"))
	return node{
		status: relay.Status{
			Node: "n1", Region: "eu", Registered: true, Generation: 4, LeaseEpoch: 2, LeaseLeft: 9 * time.Second, BootID: "boot_1",
			Identity: relay.Identity{SPIFFEID: "spiffe://berth.test/relay/eu/n1", NotAfter: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		},
		tenants: []relay.TenantStatus{
			{Tenant: "a", Role: placement.RoleOwner, Generation: 3, Version: 9, Copy: placement.Copy{Present: true, Stamp: 3}, SnapshotAge: 1500 * time.Millisecond},
			{Tenant: "b", Role: placement.RoleSource, State: placement.Copying, Migration: "mig_1", SnapshotAge: -1, Write: hidden, Read: hidden,
				Copy: placement.Copy{Present: true, Stamp: 1, Fenced: true, FenceVersion: 7}, Failed: errors.New("<script>a defect</script>")},
		},
	}
}

func get(tb testing.TB, n node, path, accept string) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequest("GET", path, nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	debugpage.Handler(n).ServeHTTP(w, r)
	return w
}

// The page shows per tenant what the node may do and why not, runs no script, and shows no cause that is for the log.
func TestPage(t *testing.T) {
	t.Parallel()
	w := get(t, sample(), "/debug/tenants", "text/html,application/json;q=0.9")
	text := w.Body.String()
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	for _, part := range []string{"Node n1 in eu", "heartbeat generation 4", "9s left", "2026-01-02T03:04:05Z", "1.5s old", "of generation 1, fenced at version 7", "lease_run_out", "mig_1", "2 tenants concern this node"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	for _, part := range []string{"<script", "a cause for the log", "a defect"} {
		if strings.Contains(text, part) {
			t.Errorf("the page shows %q", part)
		}
	}
}

// Programs that ask for JSON get the same as JSON.
func TestJSON(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json", "application/json;q=1, */*"} {
		w := get(t, sample(), "/debug/tenants", accept)
		var got struct {
			Node    struct{ Ready bool }
			Tenants []struct {
				Tenant   string
				MayWrite bool                   `json:"may_write"`
				Write    *struct{ Slug string } `json:"write_denied"`
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if !got.Node.Ready || len(got.Tenants) != 2 || !got.Tenants[0].MayWrite || got.Tenants[1].MayWrite || got.Tenants[1].Write.Slug != "lease_run_out" {
			t.Errorf("got %s", w.Body.String())
		}
	}
	for _, accept := range []string{"", "*/*", "text/html"} {
		if kind := get(t, sample(), "/debug/tenants", accept).Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/html") {
			t.Errorf("Accept %q gets %s", accept, kind)
		}
	}
}

// Ready is who is registered and has a lease; who is not says why. Well is every process that answers.
func TestReady(t *testing.T) {
	t.Parallel()
	n := sample()
	for name, c := range map[string]struct {
		change func(*relay.Status)
		status int
	}{
		"all is well":    {func(*relay.Status) {}, 204},
		"not registered": {func(s *relay.Status) { s.Registered = false }, 503},
		"without lease":  {func(s *relay.Status) { s.LeaseLeft = 0 }, 503},
		"refused": {func(s *relay.Status) {
			s.Why = fault.New(fault.Conflict, "storage_changed", "another disk").Curable("replace it")
		}, 503},
	} {
		one := n
		c.change(&one.status)
		w := get(t, one, "/readyz", "")
		if w.Code != c.status {
			t.Errorf("%s: %d", name, w.Code)
		}
		if name == "refused" && (!strings.Contains(w.Body.String(), "storage_changed") || !strings.Contains(w.Body.String(), "replace it")) {
			t.Errorf("it does not say why: %s", w.Body.String())
		}
		if w := get(t, one, "/healthz", ""); w.Code != 204 {
			t.Errorf("%s: not well: %d", name, w.Code)
		}
	}
	if w := get(t, n, "/", ""); w.Code != 404 {
		t.Errorf("something else is served: %d", w.Code)
	}
}
