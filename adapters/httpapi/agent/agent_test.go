package agent_test

import (
	"strings"
	"testing"

	"berth/domain/delivery"
)

// The whole way of an agent: enrol by a package, poll, fetch what is named, report, prove.
func TestTheWayOfAnAgent(t *testing.T) {
	t.Parallel()
	s := enrolled(t)
	s.publish("1.0.0")
	out := s.asks("GET", "/agent/v1/desired-state?wait=0s", "")
	s.wants(out, 200, "")
	if got := out.Header().Get("Content-Type"); got != "application/jose" {
		t.Fatal(got)
	}
	token, etag := out.Body.String(), out.Header().Get("ETag")
	p, err := delivery.PayloadOfToken(token)
	s.must(err)
	if held, ok := delivery.ParseHeld(etag); !ok || held.Revision != p.Revision || len(p.Apps) != 1 {
		t.Fatalf("%s: %+v", etag, p)
	}
	out = s.asks("GET", "/agent/v1/desired-state", "", "If-None-Match", etag)
	if out.Code != 304 || out.Body.Len() > 0 || out.Header().Get("ETag") != etag {
		t.Fatalf("%d %s", out.Code, out.Body)
	}
	object := p.Apps[0].Manifests.SHA256
	out = s.asks("GET", "/agent/v1/objects/"+object, "")
	s.wants(out, 200, "")
	if delivery.Digest(out.Body.Bytes()) != object || !strings.Contains(out.Header().Get("Cache-Control"), "immutable") {
		t.Fatal("another object")
	}
	s.wants(s.asks("GET", "/agent/v1/objects/"+delivery.Digest(nil), ""), 404, "object_not_found")
	report := `{"sequence":1,"observed_revision":2,"apps":[{"app":"db","version":"1.0.0","outcome":"healthy"}],"agent":{"version":"0.1.0"}}`
	s.wants(s.asks("POST", "/agent/v1/reports", report), 204, "")
	s.wants(s.asks("POST", "/agent/v1/reports", report), 204, "")
	s.wants(s.asks("POST", "/agent/v1/proofs", `{"desired_state":"`+token+`"}`), 204, "")
	s.wants(s.asks("POST", "/agent/v1/reports", strings.Replace(report, `"observed_revision":2`, `"observed_revision":99`, 1)), 204, "")
	beyond := strings.Replace(strings.Replace(report, `"observed_revision":2`, `"observed_revision":99`, 1), `"sequence":1`, `"sequence":2`, 1)
	s.wants(s.asks("POST", "/agent/v1/reports", beyond), 409, "desired_state_behind")
	s.wants(s.asks("GET", "/agent/v1/desired-state", "", "If-None-Match", etag), 409, "desired_state_behind")
}

func TestWhatAgentsAreRefusedFor(t *testing.T) {
	t.Parallel()
	s := enrolled(t)
	s.wants(s.raw("GET", "/agent/v1/desired-state", ""), 401, "agent_token_malformed")
	s.wants(s.raw("GET", "/agent/v1/desired-state", "", "Authorization", "Bearer "+s.token("GET", "/agent/v1/objects/x", "")), 401, "agent_token_request")
	s.wants(s.raw("POST", "/agent/v1/reports", `{}`, "Authorization", "Bearer "+s.token("POST", "/agent/v1/reports", "{ }")), 401, "agent_token_request")
	s.wants(s.asks("GET", "/agent/v1/desired-state?wait=9h", ""), 422, "invalid_wait")
	s.wants(s.asks("POST", "/agent/v1/reports", `{"sequence":1,"observed_revision":1,"apps":[],"agent":{},"extra":1}`), 422, "unknown_field")
	link, files := s.packed()
	if _, there := files["enrolment-token"]; there {
		t.Fatal("a package of a deployment with an agent lets another one in")
	}
	s.wants(s.raw("GET", link, ""), 410, "package_fetched")
	s.wants(s.raw("GET", "/packages/v1/bp_nothing", ""), 404, "package_not_found")
	s.wants(s.raw("POST", "/agent/v1/enroll", s.enrolBody("be_"+strings.Repeat("a", 32), licenseKey)), 401, "enrolment_token_unknown")
}

// An address that fails again and again is told so; whoever proves who it is never pays for that.
func TestFailuresAreBoundedAndProofsAreNot(t *testing.T) {
	t.Parallel()
	s := enrolled(t)
	for range 20 {
		s.wants(s.raw("GET", "/agent/v1/desired-state", ""), 401, "agent_token_malformed")
	}
	s.wants(s.raw("GET", "/agent/v1/desired-state", ""), 429, "rate_limited")
	s.wants(s.asks("GET", "/agent/v1/desired-state", ""), 200, "")
}

// What is served is in the document that is served of it.
func TestTheDocumentNamesEveryOperation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	out := s.raw("GET", "/agent/v1/openapi.json", "")
	s.wants(out, 200, "")
	for _, path := range []string{"/agent/v1/enroll", "/agent/v1/desired-state", "/agent/v1/objects/{sha256}", "/agent/v1/reports", "/agent/v1/proofs"} {
		if !strings.Contains(out.Body.String(), `"`+path+`"`) {
			t.Errorf("%s is not in it", path)
		}
	}
}
