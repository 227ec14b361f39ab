package nodes_test

import (
	"net/http"
	"strings"
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// Of all secrets that a run used none stands in a log, a refusal, a page or the database, in whatever form.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	w := open(t, harness.NewSite(t, "BERTH_LOG_LEVEL=debug"), "secrets")
	w.Ingress.Extra["LOG_LEVEL"] = "debug"
	w.Ingress.Stop()
	w.Ingress.Start()
	secrets := harness.NewSecrets()
	r := w.relay("a")
	r.Extra["LOG_LEVEL"] = "debug"
	r.Serves()
	other := w.relay("b")
	other.Serves()
	w.Secrets(secrets, r, other)
	refused := w.misbehave(secrets, r)
	w.RotateIngressSecret()
	w.nextBeat(r)
	_, err := w.Operator().RevokeCredential(t.Context(), r.ID, harness.Fingerprint(r.Certificate()), "the test wants it")
	must(t, err)
	r.NewJoinToken()
	r.Within(patience, "it has another certificate in use", func() bool {
		return w.state(r, harness.Fingerprint(r.Certificate())) == "current"
	})
	w.Secrets(secrets, r, other)
	for _, what := range []string{
		"the bootstrap token", "an operator's token", "an ingress secret", "the key of the server's certificate",
		"the database's password", "the key of the ingress's certificate", "a key in the KMS", "a join token", "a node's key",
		"a pairing code", "a device's token", "a route handle",
	} {
		if !secrets.Has(what) {
			t.Errorf("the run had no %s", what)
		}
	}
	for where, text := range w.everything(refused, r, other) {
		if len(text) < 50 {
			t.Errorf("%s is empty", where)
		}
		secrets.In(t, where, []byte(text))
		// The same search finds one that is put there.
		if secrets.Found([]byte(text+r.JoinToken())) == nil {
			t.Errorf("a join token is not found in %s", where)
		}
	}
}

// misbehave pairs a device, and sends secrets where they are refused; it returns what the refusals say. None is sent as the
// name of a field: a refusal has to name a field that is not known.
func (w *world) misbehave(secrets *harness.Secrets, r *harness.Relay) string {
	w.t.Helper()
	tenant := w.NewTenant(w.region+"-t", w.region).ID
	s := w.Replicas[0]
	var code contract.PairingCode
	s.Operator("POST", "/api/v1/tenants/"+tenant+"/pairing-codes", contract.NewPairingCode{Role: "owner"}, 201, &code)
	d := s.Pair(tenant, "owner", "phone")
	secrets.AddText("a pairing code", code.Code)
	for _, h := range d.RouteHandles {
		secrets.AddText("a route handle", h.Handle)
	}
	token := s.DeviceToken(d, "https://localhost:8440/v1/devices/token")
	secrets.AddText("a device's token", token)
	var said strings.Builder
	note := func(a harness.Answer) {
		w.t.Helper()
		if a.Status < 400 {
			w.t.Errorf("a request that is wrong is answered with %d", a.Status)
		}
		_ = a.Header.Write(&said)
		said.Write(append(a.Body, '\n'))
	}
	note(s.Do(harness.Bootstrap, "GET", "/api/v1/nodes", nil)) // closed
	note(s.Do(token, "GET", "/api/v1/nodes", nil))
	note(s.Do(s.Token+"x", "GET", "/api/v1/nodes", nil))
	note(s.Do(s.Token, "GET", "/api/v1/nodes/"+r.JoinToken(), nil))
	note(s.Do(s.Token, "POST", "/api/v1/nodes", `{"id":"`+r.JoinToken()+`","region":"`+s.Token+`"}`))
	note(s.Do(s.Token, "POST", "/api/v1/nodes", `{"id":"`+r.JoinToken()+`",`))
	note(s.Do("", "POST", "/v1/devices", contract.NewDevice{PairingCode: code.Code, Name: token, Kind: "phone", PublicKey: r.JoinToken()}))
	note(w.Enrols(`{"join_token":"` + r.JoinToken() + `","csr":"` + s.Token + `"}`))
	note(w.Enrols(`{"join_token":"` + s.Token + `","csr":"` + r.JoinToken() + `"`))
	return said.String()
}

// everything is whatever others can read of a run, by where.
func (w *world) everything(refused string, nodes ...*harness.Relay) map[string]string {
	w.t.Helper()
	all := map[string]string{"a refusal": refused + w.Enroll.Refusals(), "the database": w.Dump(), "the log of the ingress": w.Ingress.Output()}
	for _, s := range w.Replicas {
		all["the log of a replica "+s.API] = s.Output()
		all["the metrics of a replica "+s.API] = s.MetricsText()
	}
	page := func(where, url, accept string) {
		w.t.Helper()
		text, err := harness.PageText(http.DefaultClient, url, accept)
		must(w.t, err)
		all[where+" "+accept] = text
	}
	page("the metrics of the ingress", w.Ingress.Metrics+"/metrics", "*/*")
	for _, n := range nodes {
		all["the log of node "+n.ID] = n.Output()
		all["the metrics of node "+n.ID] = n.Text("/metrics", "*/*")
		for _, form := range []string{"text/html", "application/json"} {
			all["the page of node "+n.ID+" "+form] = n.Text("/debug/tenants", form)
		}
	}
	for _, tap := range w.Upstream {
		all["a refusal"] += tap.Refusals()
	}
	return all
}
