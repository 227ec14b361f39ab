package identity_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

// foreignRoot is the PEM of another CA's root, good for a year around the start.
func foreignRoot(t tester, name string, change func(*x509.Certificate)) []byte {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	return foreignRootOf(t, ed25519.NewKeyFromSeed(seed[:]), name, change)
}

func foreignRootOf(t tester, key crypto.Signer, name string, change func(*x509.Certificate)) []byte {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: start().Add(-time.Hour),
		NotAfter: start().Add(365 * 24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func foreignRoots(t tester, n int) (text []byte) {
	t.Helper()
	for i := range n {
		text = append(text, foreignRoot(t, fmt.Sprint("ca", i), nil)...)
	}
	return text
}

// Roots of other CAs are read in their order, up to as many as are believed, whatever blank lines stand between them, and
// each is called by its own fingerprint.
func TestExternalRootsAreRead(t *testing.T) {
	t.Parallel()
	text := bytes.ReplaceAll(foreignRoots(t, identity.MaxExternalRoots), []byte("-----END CERTIFICATE-----"),
		[]byte("-----END CERTIFICATE-----\r\n\n"))
	roots, err := identity.ReadExternalRoots(text, start())
	must(t, err)
	if len(roots) != identity.MaxExternalRoots {
		t.Fatalf("read %d", len(roots))
	}
	for i, r := range roots {
		block, _ := pem.Decode(foreignRoot(t, fmt.Sprint("ca", i), nil))
		if !bytes.Equal(r.Certificate, block.Bytes) || r.Fingerprint != identity.FingerprintOf(block.Bytes) ||
			r.KID() != "external-"+r.Fingerprint[:16] || !r.NotAfter.Equal(start().Add(365*24*time.Hour)) {
			t.Errorf("root %d is %s until %s", i, r.KID(), r.NotAfter)
		}
	}
}

// Strong keys of every sort that CAs have are taken, and no others.
func TestExternalRootKeys(t *testing.T) {
	t.Parallel()
	ec := func(c elliptic.Curve) crypto.Signer {
		key, err := ecdsa.GenerateKey(c, rand.Reader)
		must(t, err)
		return key
	}
	rsaKey := func(bits int) crypto.Signer {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		must(t, err)
		return key
	}
	for name, c := range map[string]struct {
		key  crypto.Signer
		good bool
	}{
		"P-224": {ec(elliptic.P224()), false}, "P-256": {ec(elliptic.P256()), true}, "P-384": {ec(elliptic.P384()), true},
		"P-521": {ec(elliptic.P521()), true}, "RSA 1024": {rsaKey(1024), false}, "RSA 2048": {rsaKey(2048), true},
	} {
		_, err := identity.ReadExternalRoots(foreignRootOf(t, c.key, name, nil), start())
		if c.good {
			must(t, err)
			continue
		}
		wantFault(t, err, fault.Invalid, "external_root_key_weak")
	}
}

// What is not a list of roots that are good now is refused as a whole, each reason by its own slug.
func TestExternalRootsRefused(t *testing.T) {
	t.Parallel()
	good := foreignRoot(t, "good", nil)
	after := func(text []byte) []byte { return append(bytes.Clone(good), text...) }
	for what, c := range map[string]struct {
		text []byte
		slug string
	}{
		"nothing":        {nil, "external_roots_malformed"},
		"blank":          {[]byte(" \n\n"), "external_roots_malformed"},
		"words before":   {append([]byte("# roots\n"), good...), "external_roots_malformed"},
		"words after":    {after([]byte("and so on")), "external_roots_malformed"},
		"a key":          {after(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})), "external_roots_malformed"},
		"headers":        {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"A": "b"}, Bytes: []byte("x")}), "external_roots_malformed"},
		"garbage":        {after(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})), "external_roots_malformed"},
		"too long":       {foreignRoot(t, "a", func(c *x509.Certificate) { c.DNSNames = []string{strings.Repeat("a.", 5000) + "b"} }), "external_roots_malformed"},
		"cut off":        {good[:len(good)/2], "external_roots_malformed"},
		"the first cut":  {append(bytes.Clone(good[:200]), foreignRoot(t, "b", nil)...), "external_roots_malformed"},
		"garbled first":  {append(bytes.Replace(good, []byte("MII"), []byte("!!!"), 1), foreignRoot(t, "b", nil)...), "external_roots_malformed"},
		"the second cut": {after(foreignRoot(t, "b", nil)[:200]), "external_roots_malformed"},
		"too many":       {foreignRoots(t, identity.MaxExternalRoots+1), "external_roots_too_many"},
		"twice":          {after(good), "external_root_repeated"},
		"no CA":          {after(foreignRoot(t, "a", func(c *x509.Certificate) { c.IsCA = false })), "external_root_kind"},
		"no constraints": {foreignRoot(t, "a", func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = false, false }), "external_root_kind"},
		"may not sign":   {foreignRoot(t, "a", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }), "external_root_kind"},
		"ended":          {after(foreignRoot(t, "a", func(c *x509.Certificate) { c.NotAfter = start() })), "external_root_ended"},
	} {
		roots, err := identity.ReadExternalRoots(c.text, start())
		if err == nil || fault.KindOf(err) != fault.Invalid || fault.SlugOf(err) != c.slug || roots != nil {
			t.Errorf("%s: got %d roots, %v; want %s", what, len(roots), err, c.slug)
		}
	}
	_, err := identity.ReadExternalRoots(foreignRoot(t, "early", func(c *x509.Certificate) { c.NotBefore = start().Add(time.Hour) }), start())
	must(t, err)
}

// Whatever text comes, reading ends, and what is taken are roots that have not ended.
func TestExternalRootsFromAnything(t *testing.T) {
	t.Parallel()
	good := foreignRoots(t, 2)
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Clone(good)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		roots, err := identity.ReadExternalRoots(text, start())
		if (err == nil) != (len(roots) == 2) {
			t.Fatalf("%d roots, %v", len(roots), err)
		}
	})
}

// Beside the ring's own roots stand those of other CAs that have not ended, and none by a key of the ring: what is
// believed of that, the ring alone says, so that a file brings no compromised key back.
func TestExternalRootsBesideTheRing(t *testing.T) {
	t.Parallel()
	w := caWindows()
	own := rootKey(t, 1, start(), nil)
	own.NotBefore = start().Add(-w.Skew)
	key, err := identity.NewSigningKey(own, w, start())
	must(t, err)
	seed := sha256.Sum256([]byte(kid(1)))
	short := func(c *x509.Certificate) { c.NotAfter = start().Add(time.Hour) }
	text := append(foreignRoot(t, "short", short), foreignRoot(t, "long", nil)...)
	text = append(text, foreignRootOf(t, ed25519.NewKeyFromSeed(seed[:]), "another certificate for the ring's key", nil)...)
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate})...)
	roots, err := identity.ReadExternalRoots(text, start())
	must(t, err)
	ring := identity.RestoreKeyRing(identity.KeyForCA, []identity.SigningKeyRecord{key.Record()})
	for range 2 { // as it is, and compromised
		for after, want := range map[time.Duration]int{0: 2, time.Hour - 1: 2, time.Hour: 1, 365 * 24 * time.Hour: 0} {
			got := ring.Beside(roots, start().Add(after))
			if len(got) != want || want > 0 && got[len(got)-1].Fingerprint != roots[1].Fingerprint {
				t.Errorf("after %s: %d roots, want %d", after, len(got), want)
			}
		}
		_, err := ring.Compromise(kid(1), start())
		must(t, err)
	}
}
