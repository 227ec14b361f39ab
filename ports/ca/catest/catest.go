// Package catest is the suite that every built-in certificate authority passes, and an authority in memory for other
// tests.
package catest

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca"
	"berth/ports/internal/law"
	"berth/ports/signer"
)

// Subject is an authority and the service that keeps its keys.
type Subject struct {
	CA    ca.BuiltIn
	Keys  signer.Keys
	Break func(cause error) // makes the authority or its service fail because of cause, until Break(nil)
}

// Run checks every law, each on a subject of its own.
func Run(t *testing.T, open func(tb testing.TB) Subject) {
	t.Helper()
	law.Run(t, laws(), open)
}

func laws() []law.Law[Subject] {
	return []law.Law[Subject]{
		{Name: "a certificate says what was ordered and nothing else", Check: saysTheOrder},
		{Name: "a certificate verifies against its root through all of its life", Check: verifies},
		{Name: "a certificate is for both ends of TLS", Check: servesTLS},
		{Name: "certificates and roots name their keys", Check: namesKeys},
		{Name: "a serial number is positive and the order's own", Check: serials},
		{Name: "a root is one that a key ring takes", Check: rootsAreTaken},
		{Name: "a root signs for no further authority", Check: endsPaths},
		{Name: "a root signs for its trust domain only", Check: keepsDomainsApart},
		{Name: "roots are told apart", Check: tellsRootsApart},
		{Name: "what no node may have is refused", Check: refusesOrders},
		{Name: "nothing outlives its issuer", Check: bounds},
		{Name: "an authority that is away says so, and comes back", Check: comesBack},
		{Name: "an ended context is heeded by every method", Check: heedsContext},
		{Name: "a key that is gone signs nothing", Check: needsItsKey},
		{Name: "another key than the root's signs nothing", Check: needsTheRootsKey},
	}
}

const domain = "berth.example"

// now is an instant with a fraction of a second, as most are.
func now() time.Time { return time.Unix(1_800_000_000, 123_456_000).UTC() }

func windows() identity.Windows {
	return identity.Windows{PublishAhead: time.Hour, SignFor: 24 * time.Hour, VerifyAfter: 25 * time.Hour, Skew: 5 * time.Second}
}

// authority is a root that was made, and its key.
type authority struct {
	ca.Issuer
	public ed25519.PublicKey
	cert   *x509.Certificate
}

func root(tb testing.TB, s Subject, name string) authority {
	tb.Helper()
	r := rootOrder(tb, s, name)
	der, err := s.CA.SelfSign(tb.Context(), r)
	if err != nil {
		tb.Fatalf("self-sign: %v", err)
	}
	return authority{ca.Issuer{Ref: r.Ref, Root: der}, r.Public, parsed(tb, der)}
}

func rootOrder(tb testing.TB, s Subject, name string) ca.Root {
	tb.Helper()
	ref, public, err := s.Keys.Create(tb.Context(), signer.CA)
	if err != nil {
		tb.Fatalf("create a key: %v", err)
	}
	return ca.Root{
		Ref: ref, Public: public, Name: name, TrustDomain: domain, Serial: serialOf(name), Validity: windows().Root(now()),
	}
}

func serialOf(text string) [ca.SerialBytes]byte {
	sum := sha256.Sum256([]byte(text))
	return [ca.SerialBytes]byte(sum[:ca.SerialBytes])
}

func parsed(tb testing.TB, der []byte) *x509.Certificate {
	tb.Helper()
	c, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatalf("what was signed does not parse: %v", err)
	}
	return c
}

func nodeID(tb testing.TB, trustDomain, node string) identity.SPIFFEID {
	tb.Helper()
	id, err := identity.RelayID(trustDomain, "eu", node)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func order(tb testing.TB, by authority, public crypto.PublicKey) ca.Order {
	tb.Helper()
	return ca.Order{
		Issuer: by.Issuer, SPIFFEID: nodeID(tb, domain, "n1"), Public: public, Serial: serialOf("n1"),
		Validity: identity.SigningKeyRecord{VerifyUntil: by.cert.NotAfter}.Dates(now(), 24*time.Hour),
	}
}

func certify(tb testing.TB, s Subject, o ca.Order) *x509.Certificate {
	tb.Helper()
	issued, err := s.CA.Certify(tb.Context(), o)
	if err != nil {
		tb.Fatalf("certify: %v", err)
	}
	if len(issued.Chain) != 0 {
		tb.Fatalf("a root signed, and there is a chain of %d", len(issued.Chain))
	}
	return parsed(tb, issued.Certificate)
}

// publics are a key of each sort that a node may have.
func publics(tb testing.TB) []crypto.PublicKey {
	tb.Helper()
	return []crypto.PublicKey{edKey(tb), curveKey(tb, elliptic.P256()), curveKey(tb, elliptic.P384())}
}

func edKey(tb testing.TB) crypto.PublicKey {
	tb.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return public
}

func curveKey(tb testing.TB, c elliptic.Curve) crypto.PublicKey {
	tb.Helper()
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return &k.PublicKey
}

func refused(tb testing.TB, what string, err error, kind fault.Kind, slug string) {
	tb.Helper()
	if err == nil || fault.KindOf(err) != kind || fault.SlugOf(err) != slug {
		tb.Fatalf("%s is answered with %v, not with %v %s", what, err, kind, slug)
	}
}

func ended(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	return ctx
}
