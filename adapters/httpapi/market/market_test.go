package market_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"berth/adapters/contract"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// strangers are those who do not prove who they are, each in another way.
func strangers() map[string][]string {
	return map[string][]string{
		"nothing":               nil,
		"no key":                {contract.HeaderInstallID, "ins_1"},
		"no install id":         {contract.HeaderLicenseKey, keyOf("lic_1")},
		"empty headers":         {contract.HeaderInstallID, "", contract.HeaderLicenseKey, ""},
		"an unknown install id": pair("ins_9", "lic_1"),
		"a strange install id":  pair("../ins_1'; --", "lic_1"),
		"a wrong key":           pair("ins_1", "lic_9"),
		"another license's key": pair("ins_1", "lic_2"),
		"a revoked license":     pair("ins_3", "lic_2"),
		"a huge key":            {contract.HeaderInstallID, "ins_1", contract.HeaderLicenseKey, strings.Repeat("a", 4000)},
		"a bearer token":        {"Authorization", "Bearer " + keyOf("lic_1"), contract.HeaderInstallID, "ins_1"},
	}
}

// Whoever does not prove who it is gets one and the same answer, byte for byte, whatever it asks for and whatever is
// wrong with that.
func TestOneAnswerForStrangers(t *testing.T) {
	t.Parallel()
	var first *httptest.ResponseRecorder
	for name, header := range strangers() {
		s := newSite(t) // each has its own budget of failures
		for _, ask := range [][3]string{
			{"GET", "/apps", ""}, {"GET", "/license", ""}, {"GET", "/intents/int_1", ""},
			{"POST", "/apps/db/intents", `{"action":"install"}`}, {"PUT", "/apps/secret/installation", `{"nonsense":`},
		} {
			w := s.sendFrom("192.0.2.1:1", ask[0], ask[1], ask[2], header...)
			if first == nil {
				first = w
			}
			if w.Code != http.StatusUnauthorized || w.Body.String() != first.Body.String() || !reflect.DeepEqual(w.Header(), first.Header()) {
				t.Errorf("%s of %s: %d %s %v, and first %s %v", ask[1], name, w.Code, w.Body, w.Header(), first.Body, first.Header())
			}
		}
	}
}

// An address that fails again and again is told to slow down, and nothing of whether it would have failed: a pair that
// is right is never asked to pay for it, from that address either, nor is any other address.
func TestFailuresAreBoundedAndNobodyElsePays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	failed := map[int]int{}
	for n := range 10_000 {
		w := s.sendFrom("192.0.2.66:1", "GET", "/license", "", pair("ins_1", "lic_9")...)
		failed[w.Code]++
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
			t.Fatal("no Retry-After")
		}
		if n%1000 == 0 {
			answered[contract.MarketLicense](t, s.sendFrom("192.0.2.66:1", "GET", "/license", "", pair("ins_1", "lic_1")...), http.StatusOK)
		}
	}
	if want := map[int]int{http.StatusUnauthorized: burst, http.StatusTooManyRequests: 10_000 - burst}; !maps.Equal(failed, want) {
		t.Errorf("answered %v", failed)
	}
	answered[contract.Problem](t, s.sendFrom("192.0.2.67:1", "GET", "/license", "", pair("ins_1", "lic_9")...), http.StatusUnauthorized)
}

// The list, an intent and its end, and the platform's word, as a platform goes through them.
func TestFromTheListToInstalled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	list := answered[contract.MarketApps](t, s.send("GET", "/apps", ""), http.StatusOK)
	if len(list.Apps) != 2 || list.Apps[0].App != "blog" || list.Apps[0].Name != "BLOG" || list.Apps[0].State != "entitled" ||
		list.Apps[0].Deployed != nil || len(list.Apps[0].Blocked) != 1 || list.Apps[0].Blocked[0].Slug != "dependency_missing" ||
		list.Apps[0].Blocked[0].Cure != "install db 1.1.0 first" || list.Apps[1].Versions[0] != "1.1.0" {
		t.Errorf("got %+v", list)
	}
	v := answered[contract.Intent](t, s.send("POST", "/apps/db/intents", `{"action":"install","parameters":{"size":3,"debug":true,"name":"x"}}`), http.StatusAccepted)
	if v.State != "accepted" || v.Version != "1.1.0" || v.App != "db" || v.EndedAt != nil || v.Revision != 1 {
		t.Errorf("got %+v", v)
	}
	if p := s.shelf.asked[0].Choice.Parameters; !maps.Equal(p, map[string]string{"size": "3", "debug": "true", "name": "x"}) {
		t.Errorf("rendered with %v", p)
	}
	s.must(s.mem.Atomically(context.Background(), func(ctx context.Context, r *store.Roles) error {
		s.must(r.Observations.Put(ctx, []delivery.Observation{{
			InstallID: "ins_1", App: "db", Version: "1.1.0", Outcome: delivery.OutcomeHealthy, Revision: 1, ReportedAt: noon,
		}}))
		return store.UpdateIn[*delivery.Intent](ctx, r.Intents, v.ID, func(v *delivery.Intent) error { v.Succeed(noon, ""); return nil })
	}))
	v = answered[contract.Intent](t, s.send("GET", "/intents/"+v.ID, ""), http.StatusOK)
	if v.State != "succeeded" || v.EndedAt == nil {
		t.Errorf("got %+v", v)
	}
	answered[contract.Problem](t, s.sendFrom("192.0.2.1:1", "GET", "/intents/"+v.ID, "", pair("ins_2", "lic_1")...), http.StatusNotFound)
	o := answered[contract.Installation](t, s.send("PUT", "/apps/db/installation", `{"installed":true,"version":"1.1.0"}`), http.StatusOK)
	if !o.Installed || o.Version != "1.1.0" || o.InstalledAt == nil {
		t.Errorf("got %+v", o)
	}
	list = answered[contract.MarketApps](t, s.send("GET", "/apps", ""), http.StatusOK)
	if db := list.Apps[1]; db.State != "installed" || db.Deployed == nil || db.Deployed.Health != "healthy" || db.Deployed.Stale || db.Desired != "1.1.0" {
		t.Errorf("got %+v", db)
	}
	l := answered[contract.MarketLicense](t, s.send("GET", "/license", ""), http.StatusOK)
	if l.ID != "lic_1" || l.Used.Apps != 1 || l.Used.CPU != "250m" || l.Used.Memory != "1Mi" || l.Quota.CPU != "10" || l.Grace != "72h0m0s" {
		t.Errorf("got %+v", l)
	}
}

// Statuses say what sort of refusal it is, and errors names everything, also where it is one thing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	install := func(app string) *httptest.ResponseRecorder {
		return s.send("POST", "/apps/"+app+"/intents", `{"action":"install"}`)
	}
	refused(t, install("blog"), http.StatusUnprocessableEntity, "dependency_missing")
	refused(t, install("secret"), http.StatusConflict, "not_entitled")
	s.shelf.faults = []*fault.Error{
		fault.New(fault.NotFound, "image_missing", "gone"), fault.New(fault.Unavailable, "image_check_unavailable", "away"),
		fault.New(fault.Invalid, "platform_unsupported", "other"),
	}
	refused(t, install("db"), http.StatusUnprocessableEntity, "image_missing", "image_check_unavailable", "platform_unsupported")
	s.shelf.faults = nil
	answered[contract.Intent](t, install("db"), http.StatusAccepted)
	refused(t, install("db"), http.StatusConflict, "already_deployed", "intent_in_flight")
	refused(t, s.send("POST", "/apps/db/intents", `{"action":"upgrade"}`), http.StatusConflict, "downgrade_refused", "intent_in_flight")
	refused(t, s.send("POST", "/apps/db/intents", `{"action":"upgrade","version":"9.9.9"}`), http.StatusUnprocessableEntity, "version_unknown", "intent_in_flight")
	for body, slug := range map[string]string{
		`{"action":"reinstall"}`: "invalid_value", `{}`: "required_field_missing", `{"action":"install","image":"x"}`: "unknown_field",
		`{"action":"install","version":"1.2"}`: "version_invalid", `{"action":"install","parameters":{"a":1.5}}`: "parameter_invalid",
		`{"action":"install","parameters":{"a":{}}}`: "parameter_invalid", `{"action":"install","parameters":{"a":{"sealed":"*"}}}`: "parameter_invalid", `{"action":"install","parameters":{"a":9007199254740993}}`: "parameter_invalid",
	} {
		p := answered[contract.Problem](t, s.send("POST", "/apps/db/intents", body), http.StatusUnprocessableEntity)
		if len(p.Errors) != 1 || p.Errors[0].Slug != slug {
			t.Errorf("%s: %+v", body, p)
		}
	}
}

// A secret that was sealed is an object of one field; that it comes before there is an agent to open it is told.
func TestSealedParameters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.send("POST", "/apps/db/intents", `{"action":"install","parameters":{"password":{"sealed":"YWdl"}}}`)
	refused(t, w, http.StatusUnprocessableEntity, "agent_not_enrolled", "parameter_unknown")
}

// A write that is repeated under its key is carried out once; the key belongs to the deployment, and to the body.
func TestRepeatedIntents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	post := func(body string, header ...string) *httptest.ResponseRecorder {
		return s.sendFrom("192.0.2.1:1", "POST", "/apps/db/intents", body, append(header, contract.HeaderIdempotencyKey, "k")...)
	}
	first := answered[contract.Intent](t, post(`{"action":"install"}`, pair("ins_1", "lic_1")...), http.StatusAccepted)
	again := post(`{"action":"install"}`, pair("ins_1", "lic_1")...)
	if v := answered[contract.Intent](t, again, http.StatusAccepted); v.ID != first.ID || again.Header().Get(contract.HeaderReplayed) != "true" {
		t.Errorf("got %+v", v)
	}
	p := answered[contract.Problem](t, post(`{"action":"uninstall"}`, pair("ins_1", "lic_1")...), http.StatusUnprocessableEntity)
	if p.Slug() != "idempotency_key_reused" {
		t.Errorf("got %+v", p)
	}
	other := answered[contract.Intent](t, post(`{"action":"install"}`, pair("ins_2", "lic_1")...), http.StatusAccepted)
	if other.ID == first.ID {
		t.Error("a key was shared by two deployments")
	}
	answered[contract.Problem](t, post(`{"action":"install"}`, pair("ins_1", "lic_9")...), http.StatusUnauthorized)
}
