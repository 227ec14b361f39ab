package identity_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

// tester is what *testing.T and *rapid.T share.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func start() time.Time { return time.Unix(1_800_000_000, 0).UTC() }

func wantFault(t tester, err error, kind fault.Kind, slug string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted, want %s %s", kind, slug)
	}
	if fault.KindOf(err) != kind || fault.SlugOf(err) != slug {
		t.Fatalf("got %v, want %s %s", err, kind, slug)
	}
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
}

func relayID(t tester, region, node string) identity.SPIFFEID {
	t.Helper()
	id, err := identity.RelayID("berth.example", region, node)
	must(t, err)
	return id
}

func drawName(t *rapid.T, label string) string {
	return rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`).Draw(t, label)
}

func drawSPIFFEID(t *rapid.T) identity.SPIFFEID {
	domain := rapid.StringMatching(`[a-z0-9._-]{1,40}`).Draw(t, "trust domain")
	id, err := identity.RelayID(domain, drawName(t, "region"), drawName(t, "node"))
	must(t, err)
	return id
}

func secretOf(id string) identity.IngressSecret {
	key := sha256.Sum256([]byte(id))
	return identity.IngressSecret{ID: id, Key: key[:]}
}

func secretsOf(t tester, retired []string, ids ...string) identity.IngressSecrets {
	t.Helper()
	var valid []identity.IngressSecret
	for _, id := range ids {
		valid = append(valid, secretOf(id))
	}
	secrets, err := identity.NewIngressSecrets(valid, retired)
	must(t, err)
	return secrets
}

func payloadFor(t tester) identity.Payload {
	t.Helper()
	return identity.Payload{
		SPIFFEID: relayID(t, "eu", "n1"), Fingerprint: identity.FingerprintOf([]byte("certificate")),
		Method: "POST", Target: "/internal/v1/nodes/n1/heartbeat?a=b&c=d", Host: "control.example:8443",
		BodySHA256: sha256.Sum256([]byte("body")), IssuedAt: start(), ExpiresAt: start().Add(10 * time.Second),
		Nonce: []byte("0123456789abcdef"),
	}
}

func arrivedAs(p identity.Payload) identity.Arrived {
	return identity.Arrived{Method: p.Method, Target: p.Target, Host: p.Host, BodySHA256: p.BodySHA256}
}

func sealed(t tester, secret string, p identity.Payload) string {
	t.Helper()
	value, err := identity.Seal(secretOf(secret), p)
	must(t, err)
	return value
}

// wantDiagram compares a state diagram with lines that read "from event to".
func wantDiagram(t *testing.T, got []identity.Edge, want ...string) {
	t.Helper()
	lines := make([]string, 0, len(got))
	for _, e := range got {
		lines = append(lines, e.From+" "+e.Event+" "+e.To)
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Fatalf("the diagram reads\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
