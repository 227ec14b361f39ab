package trust_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
)

// foreignRoots are roots of other CAs by the names of their keys, good until the given time.
func foreignRoots(t tb, until time.Time, keys ...ed25519.PrivateKey) []identity.ExternalRoot {
	t.Helper()
	var text []byte
	for i, key := range keys {
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i)), Subject: pkix.Name{CommonName: "foreign"}, NotBefore: noon.Add(-time.Hour), NotAfter: until,
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		der, err := x509.CreateCertificate(nil, c, c, key.Public(), key)
		if err != nil {
			t.Fatalf("%v", err)
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	roots, err := identity.ReadExternalRoots(text, noon)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return roots
}

// believes fails the test unless the bundle has so many roots of its own, and the given ones of others.
func (e *enrolment) believes(b trust.Bundle, own int, external ...identity.ExternalRoot) {
	e.t.Helper()
	same := len(b.External) == len(external)
	for i := range min(len(b.External), len(external)) {
		same = same && b.External[i].Fingerprint == external[i].Fingerprint
	}
	if len(b.Roots) != own || !same {
		e.t.Fatalf("believed are %d of its own and %v, want %d and %v", len(b.Roots), b.External, own, external)
	}
}

// Roots of other CAs are in every bundle, that of an enrolled node included, as they are set at that moment, until they
// end.
func TestExternalRootsAreInEveryBundle(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	first, second := foreignRoots(t, noon.Add(time.Hour), keyOf("one")), foreignRoots(t, noon.Add(day), keyOf("one"), keyOf("two"))
	now := first
	e.ExternalRoots = func() []identity.ExternalRoot { return now }
	for _, now = range [][]identity.ExternalRoot{first, second, nil, first} {
		b, err := e.TrustBundle(e.ctx)
		e.must(err)
		e.believes(b, 1, now...)
	}
	out, err := e.enroll(e.joinToken("n1").Clear, "n1")
	e.must(err)
	e.believes(out.Bundle, 1, first...)
	e.clock.Advance(time.Hour)
	b, err := e.TrustBundle(e.ctx)
	e.must(err)
	e.believes(b, 1)
}

// A root that was found compromised does not come back by the file of external ones.
func TestACompromisedRootStaysOut(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	own := e.roots()[0]
	roots, err := identity.ReadExternalRoots(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate}), e.clock.Now())
	e.must(err)
	e.ExternalRoots = func() []identity.ExternalRoot { return roots }
	_, err = e.CompromiseSigningKey(e.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: own.KID})
	e.must(err)
	b, err := e.TrustBundle(e.ctx)
	e.must(err)
	e.believes(b, 1)
	if b.Roots[0].KID == own.KID {
		t.Error("the compromised root is believed")
	}
}

// Without an authority no CA key is made and nothing is signed, which is said with a cure; certificates of other CAs are
// admitted, and their roots believed. Roots of an authority that once was end as ever, or at once where compromised.
func TestWithoutAnAuthority(t *testing.T) {
	t.Parallel()
	e := newEnrolment(t)
	token := e.joinToken("n1").Clear
	old := e.roots()[0]
	e.CA = nil
	roots := foreignRoots(t, noon.Add(day), keyOf("one"))
	e.ExternalRoots = func() []identity.ExternalRoot { return roots }
	caller, ticket, err := e.use("n1", fingerprint("n1-current"))
	e.must(err)
	before := e.dump()
	_, enroll := e.enroll(token, "n1")
	_, rotate := e.RotateCredential(e.ctx, trust.RotateCredentialRequest{Caller: caller, Ticket: ticket, CSR: csrOf(t, keyOf("n1"))})
	_, join := e.CreateJoinToken(e.ctx, trust.CreateJoinTokenRequest{Actor: alice, Node: "n1"})
	_, root := e.RotateSigningKey(e.ctx, trust.RotateSigningKeyRequest{Actor: alice, Purpose: identity.KeyForCA})
	e.refused(root, fault.Invalid, "key_purpose_unknown")
	for _, err := range []error{enroll, rotate, join} {
		e.refused(err, fault.Unavailable, "ca_absent")
		if f, _ := fault.As(err); f.Cure == "" {
			t.Error("no cure is named")
		}
	}
	e.must(e.KeepKeys(e.ctx))
	e.untouched(before, "a control plane without an authority")
	b, err := e.TrustBundle(e.ctx)
	e.must(err)
	e.believes(b, 1, roots...)
	if _, err := e.CompromiseSigningKey(e.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: old.KID}); err != nil {
		t.Fatal(err)
	}
	e.must(e.KeepKeys(e.ctx))
	b, err = e.TrustBundle(e.ctx)
	e.must(err)
	e.believes(b, 0, roots...)
}
