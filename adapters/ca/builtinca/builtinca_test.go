package builtinca_test

import (
	"crypto/x509"
	"testing"
	"time"

	"berth/adapters/ca/builtinca"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca"
	"berth/ports/ca/catest"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
)

// The built-in authority keeps every law.
func TestConforms(t *testing.T) {
	t.Parallel()
	catest.Run(t, func(testing.TB) catest.Subject {
		keys := signertest.NewMemory(1)
		return catest.Subject{CA: builtinca.New(keys), Keys: keys, Break: keys.Break}
	})
}

// Whatever trust domain SPIFFE allows has an authority: where the name can stand in a name constraint, Go holds the root
// to it, and a certificate for another domain that some other program signed by its key does not verify.
func TestTrustDomains(t *testing.T) {
	t.Parallel()
	for domain, constrained := range map[string]bool{
		"berth.example": true, "berth": true, "a-b.c1": true, "10.0.0.1": false, "under_score.example": false, "-": true,
	} {
		now := time.Unix(1_800_000_000, 0)
		keys := signertest.NewMemory(1)
		authority := builtinca.New(keys)
		ref, public, err := keys.Create(t.Context(), signer.CA)
		if err != nil {
			t.Fatal(err)
		}
		validity := identity.Validity{NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
		root, err := authority.SelfSign(t.Context(), ca.Root{Ref: ref, Public: public, Name: "root", TrustDomain: domain, Validity: validity})
		if err != nil {
			t.Fatalf("%s: %v", domain, err)
		}
		c, err := x509.ParseCertificate(root)
		if err != nil {
			t.Fatalf("%s: the root does not parse: %v", domain, err)
		}
		if constrained != (len(c.PermittedURIDomains) == 1) {
			t.Errorf("%s: constrained to %q", domain, c.PermittedURIDomains)
		}
		for _, named := range []string{domain, "elsewhere.example"} {
			id, err := identity.RelayID(named, "eu", "n1")
			if err != nil {
				t.Fatal(err)
			}
			o := ca.Order{Issuer: ca.Issuer{Ref: ref, Root: root}, SPIFFEID: id, Public: public, Validity: validity}
			if named != domain && constrained {
				o.Issuer.Root = unconstrained(t, authority, ref, public, validity)
			}
			issued, err := authority.Certify(t.Context(), o)
			if err != nil {
				t.Fatalf("%s for %s: %v", domain, named, err)
			}
			leaf, err := x509.ParseCertificate(issued.Certificate)
			if err != nil {
				t.Fatal(err)
			}
			pool := x509.NewCertPool()
			pool.AddCert(c)
			_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			if refused := named != domain && constrained; refused != (err != nil) {
				t.Errorf("a root of %s on a certificate of %s: %v", domain, named, err)
			}
		}
	}
}

// A trust domain that no certificate of Go's could name gets no root, rather than one that signs in vain.
func TestTrustDomainsThatCannotBeNamed(t *testing.T) {
	t.Parallel()
	keys := signertest.NewMemory(1)
	ref, public, err := keys.Create(t.Context(), signer.CA)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for _, domain := range []string{"two..dots", ".dot", "dot."} {
		_, err := builtinca.New(keys).SelfSign(t.Context(), ca.Root{
			Ref: ref, Public: public, Name: "root", TrustDomain: domain, Validity: identity.Validity{NotBefore: now, NotAfter: now.Add(time.Hour)},
		})
		if fault.SlugOf(err) != "ca_order_refused" {
			t.Errorf("%s: %v", domain, err)
		}
	}
}

// unconstrained is another root of the same key and name, by which anything can be signed.
func unconstrained(tb testing.TB, authority *builtinca.CA, ref signer.KeyRef, public []byte, validity identity.Validity) []byte {
	tb.Helper()
	root, err := authority.SelfSign(tb.Context(), ca.Root{Ref: ref, Public: public, Name: "root", TrustDomain: "10.0.0.1", Validity: validity})
	if err != nil {
		tb.Fatal(err)
	}
	return root
}

// A root that is as large as its bounds allow still fits into what every signing service takes whole.
func TestFitsTheSigningService(t *testing.T) {
	t.Parallel()
	keys := signertest.NewMemory(1)
	ref, public, err := keys.Create(t.Context(), signer.CA)
	if err != nil {
		t.Fatal(err)
	}
	long := make([]byte, 250)
	for i := range long {
		long[i] = "abcdefgh."[i%9]
	}
	now := time.Unix(1_800_000_000, 0)
	authority := builtinca.New(keys)
	validity := identity.Validity{NotBefore: now, NotAfter: now.Add(time.Hour)}
	root, err := authority.SelfSign(t.Context(), ca.Root{
		Ref: ref, Public: public, Name: string(long[:64]), TrustDomain: string(long), Validity: validity,
	})
	if err != nil {
		t.Fatal(err)
	}
	name := "n" + string(long[:8]) + "-" + "abcdefghabcdefghabcdefghabcdefghabcdefghabcdefghabcd"
	name = name[:8] + name[10:]
	id, err := identity.RelayID(string(long), name, name)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := authority.Certify(t.Context(), ca.Order{Issuer: ca.Issuer{Ref: ref, Root: root}, SPIFFEID: id, Public: public, Validity: validity})
	if err != nil {
		t.Fatal(err)
	}
	if len(root) > signer.MaxMessage/2 || len(issued.Certificate) > signer.MaxMessage/2 {
		t.Errorf("the root has %d bytes, the certificate %d", len(root), len(issued.Certificate))
	}
}
