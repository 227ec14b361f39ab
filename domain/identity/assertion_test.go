package identity_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

const skew = 5 * time.Second

func drawPayload(t *rapid.T) identity.Payload {
	p := payloadFor(t)
	p.SPIFFEID = drawSPIFFEID(t)
	p.Method = rapid.SampledFrom([]string{"GET", "POST", "PUT", "DELETE"}).Draw(t, "method")
	p.Target = rapid.StringMatching(`/[a-z0-9]{0,20}(/[a-z0-9:@!$&'()*+,=-]{1,10}){0,3}(\?[a-z0-9=&+%25]{0,20})?`).
		Filter(func(s string) bool { return identity.CheckTarget(s) == nil }).Draw(t, "target")
	p.Host = rapid.StringMatching(`[a-zA-Z0-9.:\[\]-]{1,40}`).Draw(t, "host")
	p.BodySHA256 = sha256.Sum256(rapid.SliceOf(rapid.Byte()).Draw(t, "body"))
	p.Nonce = rapid.SliceOfN(rapid.Byte(), 16, 64).Draw(t, "nonce")
	p.ExpiresAt = p.IssuedAt.Add(time.Duration(rapid.IntRange(1, 15).Draw(t, "life")) * time.Second)
	return p
}

// What one side seals, the other opens, with either of two secrets, at any time of its life and within the skew (I3).
func TestSealedAssertionOpens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPayload(t)
		secret := rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "secret")
		life := p.ExpiresAt.Sub(p.IssuedAt)
		now := p.IssuedAt.Add(time.Duration(rapid.Int64Range(int64(-skew), int64(life+skew)-1).Draw(t, "now")))
		got, err := identity.OpenAssertion(
			[]string{sealed(t, secret, p)}, secretsOf(t, []string{"s0"}, "s1", "s2"), arrivedAs(p), now, skew)
		must(t, err)
		if got.SPIFFEID != p.SPIFFEID || got.Fingerprint != p.Fingerprint || got.SecretID != secret ||
			!got.ExpiresAt.Equal(p.ExpiresAt) || got.ForgetAfter.Before(p.ExpiresAt.Add(skew)) {
			t.Fatalf("sealed %+v, opened %+v", p, got)
		}
		want := identity.Caller{
			Node: p.SPIFFEID.Node(), Region: p.SPIFFEID.Region(), SPIFFEID: p.SPIFFEID.String(), Fingerprint: p.Fingerprint,
		}
		if got.Caller() != want {
			t.Fatalf("the caller is %+v", got.Caller())
		}
	})
}

// Different nonces stay different, so that accepting each once is accepting each assertion once (I4).
func TestNonceIsCarried(t *testing.T) {
	t.Parallel()
	secrets := secretsOf(t, nil, "s1")
	seen := map[string]bool{}
	for i := range 20 {
		p := payloadFor(t)
		p.Nonce = fmt.Appendf(nil, "nonce-%010d", i)
		got, err := identity.OpenAssertion([]string{sealed(t, "s1", p)}, secrets, arrivedAs(p), start(), skew)
		must(t, err)
		seen[got.Nonce] = true
	}
	if len(seen) != 20 {
		t.Errorf("20 nonces became %d", len(seen))
	}
}

// Each way to be no proof, or proof of another request, has a kind and a slug of its own (I4).
func TestAssertionRefusals(t *testing.T) {
	t.Parallel()
	p := payloadFor(t)
	good := sealed(t, "s1", p)
	end := p.ExpiresAt
	type request struct {
		values  []string
		arrived identity.Arrived
		now     time.Time
		skew    time.Duration
	}
	as := func(change func(*request)) request {
		r := request{values: []string{good}, arrived: arrivedAs(p), now: start(), skew: skew}
		change(&r)
		return r
	}
	cases := map[string]struct {
		kind fault.Kind
		slug string
		r    request
	}{
		"none":         {fault.Unauthenticated, "assertion_missing", as(func(r *request) { r.values = nil })},
		"two":          {fault.Unauthenticated, "assertion_duplicated", as(func(r *request) { r.values = []string{good, good} })},
		"joined":       {fault.Unauthenticated, "assertion_malformed", as(func(r *request) { r.values = []string{good + ", " + good} })},
		"empty":        {fault.Unauthenticated, "assertion_malformed", as(func(r *request) { r.values = []string{""} })},
		"unknown":      {fault.Unauthenticated, "assertion_secret_unknown", as(func(r *request) { r.values = []string{sealed(t, "s9", p)} })},
		"retired":      {fault.Unauthenticated, "assertion_secret_retired", as(func(r *request) { r.values = []string{sealed(t, "s0", p)} })},
		"expired":      {fault.Unauthenticated, "assertion_expired", as(func(r *request) { r.now = end.Add(skew) })},
		"no skew, end": {fault.Unauthenticated, "assertion_expired", as(func(r *request) { r.now, r.skew = end, 0 })},
		"negative":     {fault.Unauthenticated, "assertion_expired", as(func(r *request) { r.now, r.skew = end, -time.Hour })},
		"negative, begin": {fault.Unauthenticated, "assertion_from_future", as(func(r *request) {
			r.now, r.skew = start().Add(-1), -time.Hour
		})},
		"future": {fault.Unauthenticated, "assertion_from_future", as(func(r *request) { r.now = start().Add(-skew - 1) })},
		"method": {fault.Forbidden, "assertion_method_mismatch", as(func(r *request) { r.arrived.Method = "post" })},
		"target": {fault.Forbidden, "assertion_target_mismatch", as(func(r *request) { r.arrived.Target += "&e=f" })},
		"host":   {fault.Forbidden, "assertion_host_mismatch", as(func(r *request) { r.arrived.Host = "Control.example:8443" })},
		"body":   {fault.Forbidden, "assertion_body_mismatch", as(func(r *request) { r.arrived.BodySHA256[31] ^= 1 })},
	}
	secrets := secretsOf(t, []string{"s0"}, "s1", "s2")
	for name, c := range cases {
		got, err := identity.OpenAssertion(c.r.values, secrets, c.r.arrived, c.r.now, c.r.skew)
		if fault.SlugOf(err) != c.slug || fault.KindOf(err) != c.kind || got != (identity.Assertion{}) {
			t.Errorf("%s: got %+v, %v, want %s", name, got, err, c.slug)
		}
	}
	for _, edge := range []time.Time{start(), end.Add(-1)} {
		_, err := identity.OpenAssertion([]string{good}, secrets, arrivedAs(p), edge, -time.Hour)
		must(t, err) // a negative skew is none
	}
	_, err := identity.OpenAssertion([]string{good}, identity.IngressSecrets{}, arrivedAs(p), start(), skew)
	wantFault(t, err, fault.Unauthenticated, "assertion_secret_unknown")
}

// No byte of a sealed assertion can be changed, dropped or added.
func TestEveryByteOfAnAssertionCounts(t *testing.T) {
	t.Parallel()
	p := payloadFor(t)
	good := sealed(t, "s1", p)
	secrets := secretsOf(t, nil, "s1")
	open := func(value string) error {
		_, err := identity.OpenAssertion([]string{value}, secrets, arrivedAs(p), start(), skew)
		return err
	}
	must(t, open(good))
	for i := range good {
		for _, c := range []string{"A", "_", "z", "0", ".", "=", "+", "/", " ", "\n", "\r", ""} {
			if changed := good[:i] + c + good[i+1:]; changed != good && open(changed) == nil {
				t.Errorf("%q may stand for byte %d", c, i)
			}
			if added := good[:i] + c + good[i:]; c != "" && open(added) == nil {
				t.Errorf("%q may stand before byte %d", c, i)
			}
		}
	}
	for _, tail := range []string{".", "\n", "\r\n", "=", "A", " ", ".A"} {
		if open(good+tail) == nil {
			t.Errorf("%q may follow", tail)
		}
	}
	wantFault(t, open("v1."+strings.Repeat("A", identity.MaxAssertion)+".A"), fault.Unauthenticated, "assertion_malformed")
}

// The ingress seals nothing that the control plane would refuse, and names all that is wrong with it.
func TestSealValidates(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*identity.Payload){
		"spiffe_id_malformed":         func(p *identity.Payload) { p.SPIFFEID = identity.SPIFFEID{} },
		"fingerprint_malformed":       func(p *identity.Payload) { p.Fingerprint = strings.ToUpper(p.Fingerprint) },
		"method_malformed":            func(p *identity.Payload) { p.Method = "Get" },
		"target_ambiguous":            func(p *identity.Payload) { p.Target = "//a" },
		"host_malformed":              func(p *identity.Payload) { p.Host = "a b" },
		"assertion_lifetime_too_long": func(p *identity.Payload) { p.ExpiresAt = p.IssuedAt.Add(16 * time.Second) },
		"nonce_malformed":             func(p *identity.Payload) { p.Nonce = p.Nonce[1:] },
	}
	for slug, change := range cases {
		p := payloadFor(t)
		change(&p)
		if _, err := identity.Seal(secretOf("s1"), p); fault.SlugOf(err) != slug || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", slug, err)
		}
	}
	for i, change := range []func(*identity.Payload){
		func(p *identity.Payload) { p.ExpiresAt = p.IssuedAt },
		func(p *identity.Payload) { p.ExpiresAt = time.Time{} },
		func(p *identity.Payload) { p.IssuedAt, p.ExpiresAt = time.Time{}, time.Time{}.Add(time.Second) },
		func(p *identity.Payload) { p.Method = "" },
		func(p *identity.Payload) { p.Method = strings.Repeat("A", 17) },
		func(p *identity.Payload) { p.Host = "" },
		func(p *identity.Payload) { p.Host = strings.Repeat("a", 262) },
		func(p *identity.Payload) { p.Nonce = make([]byte, 65) },
	} {
		p := payloadFor(t)
		change(&p)
		if _, err := identity.Seal(secretOf("s1"), p); fault.KindOf(err) != fault.Invalid {
			t.Errorf("case %d: %v", i, err)
		}
	}
	_, err := identity.Seal(identity.IngressSecret{}, identity.Payload{})
	if f, ok := fault.As(err); !ok || len(f.Errors) != 9 {
		t.Errorf("an empty secret and payload have nine problems, got %v", err)
	}
}

// The longest parts that are allowed fit into the header together, with room to spare.
func TestLongestAssertionFits(t *testing.T) {
	t.Parallel()
	p := payloadFor(t)
	id, err := identity.RelayID(strings.Repeat("a", 255), strings.Repeat("b", 63), strings.Repeat("c", 63))
	must(t, err)
	p.SPIFFEID, p.Target = id, "/"+strings.Repeat("&", identity.MaxTarget-1)
	p.Host, p.Nonce = strings.Repeat("<", 261), bytes.Repeat([]byte{255}, 64)
	secret := identity.IngressSecret{ID: strings.Repeat("s", 63), Key: make([]byte, 32)}
	value, err := identity.Seal(secret, p)
	must(t, err)
	secrets, err := identity.NewIngressSecrets([]identity.IngressSecret{secret}, nil)
	must(t, err)
	_, err = identity.OpenAssertion([]string{value}, secrets, arrivedAs(p), start(), skew)
	must(t, err)
}

func BenchmarkOpenAssertion(b *testing.B) {
	p := payloadFor(b)
	values, secrets, arrived := []string{sealed(b, "s2", p)}, secretsOf(b, nil, "s1", "s2"), arrivedAs(p)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := identity.OpenAssertion(values, secrets, arrived, start(), skew); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	p, secret := payloadFor(b), secretOf("s1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := identity.Seal(secret, p); err != nil {
			b.Fatal(err)
		}
	}
}
