package relay

import (
	"crypto/sha256"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/domain/identity"
	"berth/e2e/harness"
)

// bent is a request that no ingress would send, or that the control plane must refuse all the same.
type bent struct {
	status int
	slug   string
	send   func(w *world, n *harness.Node, body []byte) harness.Answer
}

const beatPath = "/nodes/a/heartbeat"

func with(secret func(*world) identity.IngressSecret, change func(*identity.Payload)) func(*world, *harness.Node, []byte) harness.Answer {
	return func(w *world, n *harness.Node, body []byte) harness.Answer {
		p := n.Payload("POST", beatPath, body)
		change(&p)
		return w.Internal("POST", beatPath, body, contract.HeaderAssertion, w.seal(secret(w), p))
	}
}

func (w *world) seal(s identity.IngressSecret, p identity.Payload) string {
	v, err := identity.Seal(s, p)
	if err != nil {
		panic(err)
	}
	return v
}

func present(w *world) identity.IngressSecret { return w.Secret }

func bends() map[string]bent {
	same := func(*identity.Payload) {}
	at := func(d time.Duration) func(*identity.Payload) {
		return func(p *identity.Payload) {
			p.IssuedAt, p.ExpiresAt = p.IssuedAt.Add(d), p.ExpiresAt.Add(d)
		}
	}
	return map[string]bent{
		"none": {401, "assertion_missing", func(w *world, _ *harness.Node, body []byte) harness.Answer {
			return w.Internal("POST", beatPath, body)
		}},
		"two": {401, "assertion_duplicated", func(w *world, n *harness.Node, body []byte) harness.Answer {
			v := w.seal(w.Secret, n.Payload("POST", beatPath, body))
			return w.Internal("POST", beatPath, body, contract.HeaderAssertion, v, contract.HeaderAssertion, v)
		}},
		"garbage": {401, "assertion_malformed", func(w *world, _ *harness.Node, body []byte) harness.Answer {
			return w.Internal("POST", beatPath, body, contract.HeaderAssertion, "v1.e30.e30")
		}},
		"another method":  {403, "assertion_method_mismatch", with(present, func(p *identity.Payload) { p.Method = "PUT" })},
		"another target":  {403, "assertion_target_mismatch", with(present, func(p *identity.Payload) { p.Target = "/internal/v1/nodes/b/heartbeat" })},
		"another host":    {403, "assertion_host_mismatch", with(present, func(p *identity.Payload) { p.Host = "elsewhere.test" })},
		"another body":    {403, "assertion_body_mismatch", with(present, func(p *identity.Payload) { p.BodySHA256 = sha256.Sum256([]byte("x")) })},
		"from the future": {401, "assertion_from_future", with(present, at(time.Hour))},
		"expired":         {401, "assertion_expired", with(present, at(-time.Hour))},
		"unknown secret": {401, "assertion_secret_unknown", with(func(*world) identity.IngressSecret {
			return identity.IngressSecret{ID: "s9", Key: make([]byte, 32)}
		}, same)},
		"wrong key": {401, "assertion_mac_mismatch", with(func(w *world) identity.IngressSecret {
			return identity.IngressSecret{ID: w.Secret.ID, Key: make([]byte, 32)}
		}, same)},
		"unknown fingerprint": {401, "credential_unknown", with(present, func(p *identity.Payload) { p.Fingerprint = strings.Repeat("a", 64) })},
		"another node's path": {403, "node_mismatch", func(w *world, _ *harness.Node, body []byte) harness.Answer {
			return w.nodes["b"].Do("POST", beatPath, string(body))
		}},
		"another node's certificate": {401, "credential_of_another_node", func(w *world, n *harness.Node, body []byte) harness.Answer {
			p := n.Payload("POST", beatPath, body)
			p.Fingerprint = w.nodes["b"].Fingerprint
			return w.Internal("POST", beatPath, body, contract.HeaderAssertion, w.seal(w.Secret, p))
		}},
	}
}

// Each way in that is not an ingress's is a problem with its own slug, is counted by reason, and changes nothing (I3,
// I4).
func TestAssertionsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.nodes["a"]
	before := n.Assignments()
	body := []byte(`{"generation":1,"sequence":77}`)
	for name, b := range bends() {
		a := b.send(w, n, body)
		if a.Slug() != b.slug || (a.Status != 401 && a.Status != 403) {
			t.Errorf("%s: %d %q, want %q", name, a.Status, a.Slug(), b.slug)
		}
	}
	for name, b := range bends() {
		if b.slug != "node_mismatch" && !strings.Contains(w.MetricsText(), `slug="`+b.slug+`"`) {
			t.Errorf("%s: no counter has the slug %s", name, b.slug)
		}
	}
	var shown contract.Node
	w.Operator("GET", "/api/v1/nodes/a", nil, 200, &shown)
	if shown.Heartbeat.Sequence != n.Sequence || len(n.Assignments()) != len(before) {
		t.Fatalf("a refused request changed the node: %+v", shown)
	}
}

// A mutating request counts once, also after the process was killed and started again (I4).
func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.nodes["a"]
	body := []byte(`{"generation":1,"sequence":5}`)
	value := w.seal(w.Secret, n.Payload("POST", beatPath, body))
	send := func() harness.Answer { return w.Internal("POST", beatPath, body, contract.HeaderAssertion, value) }
	if a := send(); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := send(); a.Slug() != "assertion_replayed" {
		t.Fatalf("replayed: %d %s", a.Status, a.Body)
	}
	w.Kill()
	w.Run()
	if a := send(); a.Slug() != "assertion_replayed" {
		t.Fatalf("replayed after a crash: %d %s", a.Status, a.Body)
	}
}

// A revoked certificate is refused at the next request, one that runs out from then on, and one that has run out is not
// admitted.
func TestCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.nodes["a"]
	w.Operator("POST", "/api/v1/nodes/a/credentials/"+n.Fingerprint+"/revoke", contract.Reason{Reason: "lost"}, 200, nil)
	n.Refused("GET", "/nodes/a/assignments", nil, 401, "credential_revoked")
	n.Fingerprint = n.Admit(time.Now().Add(-time.Minute), time.Now().Add(3*time.Second))
	n.Beat()
	w.Eventually("the certificate has run out", func() bool {
		return n.Do("GET", "/nodes/a/assignments", nil).Slug() == "credential_expired"
	})
	n.Fingerprint = n.Admit(time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	n.Beat()
	old := pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: harness.Certificate(n.SPIFFE, time.Now().Add(-time.Hour), time.Now().Add(-time.Minute)),
	})
	a := w.Do(w.Token, "POST", "/api/v1/nodes/a/credentials", contract.NewCredential{Certificate: string(old)})
	if a.Slug() != "certificate_expired" {
		t.Fatalf("an expired certificate was answered %d %s", a.Status, a.Body)
	}
}

// While an ingress secret is rotated both are taken; afterwards the old one is refused as retired.
func TestIngressSecretRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, old := w.nodes["a"], w.Secret
	next := identity.IngressSecret{ID: "s2", Key: []byte("0123456789abcdef0123456789abcdef")}
	w.WriteSecrets(next, old)
	w.Reload()
	w.Eventually("the new secret is taken", func() bool {
		w.Secret = next
		return n.Do("GET", "/nodes/a/assignments", nil).Status == 200
	})
	w.Secret = old
	n.Call("GET", "/nodes/a/assignments", nil, 200, nil)
	w.WriteSecrets(next)
	w.Reload()
	w.Eventually("the old secret is unknown", func() bool {
		return n.Do("GET", "/nodes/a/assignments", nil).Slug() == "assertion_secret_unknown"
	})
	w.RetireSecrets([]string{old.ID}, next)
	w.Reload()
	w.Eventually("the old secret is refused as retired", func() bool {
		return n.Do("GET", "/nodes/a/assignments", nil).Slug() == "assertion_secret_retired"
	})
}
