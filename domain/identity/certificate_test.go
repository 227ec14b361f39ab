package identity_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
)

const n1 = "spiffe://berth.example/relay/eu/n1"

// certified is a node certificate as Berth's CA issues it, after a change.
func certified(tb testing.TB, key crypto.PublicKey, change func(*x509.Certificate)) []byte {
	tb.Helper()
	ca := ed25519.NewKeyFromSeed([]byte(strings.Repeat("c", 32)))
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: start(), NotAfter: start().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		URIs:                  []*url.URL{{Scheme: "spiffe", Host: "berth.example", Path: "/relay/eu/n1"}},
		BasicConstraintsValid: true,
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}}, key, ca)
	must(tb, err)
	return der
}

func nodeKey() ed25519.PublicKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat("n", 32))).Public().(ed25519.PublicKey)
}

func curveKey(tb testing.TB, c elliptic.Curve) *ecdsa.PrivateKey {
	tb.Helper()
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	must(tb, err)
	return k
}

// names is an extension of alternative names, each by its tag and its text.
func names(texts ...string) func(*x509.Certificate) {
	var all []asn1.RawValue
	for _, text := range texts {
		tag, value, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(tag)
		if err != nil {
			panic(err)
		}
		all = append(all, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: n, Bytes: []byte(value)})
	}
	value, err := asn1.Marshal(all)
	if err != nil {
		panic(err)
	}
	return func(c *x509.Certificate) {
		c.URIs = nil
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value})
	}
}

// What a certificate says is read as it stands there, whichever of the allowed keys it has.
func TestReadNodeCertificate(t *testing.T) {
	t.Parallel()
	for _, key := range []crypto.PublicKey{
		nodeKey(), &curveKey(t, elliptic.P256()).PublicKey, &curveKey(t, elliptic.P384()).PublicKey,
	} {
		der := certified(t, key, nil)
		got, err := identity.ReadNodeCertificate(der)
		must(t, err)
		if got.SPIFFEID != relayID(t, "eu", "n1") || got.Fingerprint != identity.FingerprintOf(der) ||
			!got.NotBefore.Equal(start()) || !got.NotAfter.Equal(start().Add(time.Hour)) {
			t.Errorf("%T: read as %+v", key, got)
		}
		if same, ok := key.(interface{ Equal(crypto.PublicKey) bool }); !ok || !same.Equal(got.PublicKey) {
			t.Errorf("%T: read as the key %v", key, got.PublicKey)
		}
	}
	clientOnly := certified(t, nodeKey(), func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	_, err := identity.ReadNodeCertificate(clientOnly)
	must(t, err)
}

// Whatever a node's certificate is not is refused, each by a slug of its own.
func TestReadNodeCertificateRefuses(t *testing.T) {
	t.Parallel()
	long := "spiffe://berth.example/relay/" + strings.Repeat("e", 64) + "/n1"
	for _, c := range []struct {
		what, slug string
		change     func(*x509.Certificate)
	}{
		{"no name", "certificate_names", func(c *x509.Certificate) { c.URIs = nil }},
		{"two URIs", "certificate_names", names("6="+n1, "6="+n1)},
		{"two URIs, one foreign", "certificate_names", names("6="+n1, "6=https://berth.example/")},
		{"a DNS name beside it", "certificate_names", names("6="+n1, "2=n1.berth.example")},
		{"a wildcard beside it", "certificate_names", names("2=*.berth.example", "6="+n1)},
		{"a DNS name alone", "certificate_names", names("2=n1.berth.example")},
		{"an IP beside it", "certificate_names", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }},
		{"a mail address beside it", "certificate_names", func(c *x509.Certificate) { c.EmailAddresses = []string{"n1@berth.example"} }},
		{"a registered id beside it", "certificate_names", names("6="+n1, "8=\x2a\x03")},
		{"upper-case scheme", "certificate_spiffe_id", names("6=SPIFFE://berth.example/relay/eu/n1")},
		{"upper-case trust domain", "certificate_spiffe_id", names("6=spiffe://Berth.example/relay/eu/n1")},
		{"a port", "certificate_spiffe_id", names("6=spiffe://berth.example:443/relay/eu/n1")},
		{"an escape", "certificate_spiffe_id", names("6=spiffe://berth.example/relay/eu/n%31")},
		{"a query", "certificate_spiffe_id", names("6=" + n1 + "?x")},
		{"an empty fragment", "certificate_spiffe_id", names("6=" + n1 + "#")},
		{"a slash behind", "certificate_spiffe_id", names("6=" + n1 + "/")},
		{"an over-long path", "certificate_spiffe_id", names("6=" + long)},
		{"an over-long trust domain", "certificate_spiffe_id", names("6=spiffe://" + strings.Repeat("a", 256) + "/relay/eu/n1")},
		{"another path", "certificate_spiffe_id", names("6=spiffe://berth.example/agent/eu/n1")},
		{"a CA", "certificate_kind", func(c *x509.Certificate) { c.IsCA = true }},
		{"signs others", "certificate_kind", func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCertSign }},
		{"signs lists", "certificate_kind", func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCRLSign }},
		{"does not sign", "certificate_kind", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement }},
		{"says no use of its key", "certificate_kind", func(c *x509.Certificate) { c.KeyUsage = 0 }},
		{"a server's only", "certificate_kind", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }},
		{"says no purpose", "certificate_kind", func(c *x509.Certificate) { c.ExtKeyUsage = nil }},
		{"any purpose", "certificate_kind", func(c *x509.Certificate) {
			c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageAny)
		}},
		{"signs code too", "certificate_kind", func(c *x509.Certificate) {
			c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageCodeSigning)
		}},
		{"a purpose of its own too", "certificate_kind", func(c *x509.Certificate) {
			c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}}
		}},
		{"critical and unknown", "certificate_kind", func(c *x509.Certificate) {
			c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}})
		}},
		{"ends as it begins", "certificate_validity", func(c *x509.Certificate) { c.NotAfter = c.NotBefore }},
		{"ends before it begins", "certificate_validity", func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(-time.Second) }},
		{"huge", "certificate_malformed", func(c *x509.Certificate) {
			c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Value: make([]byte, 8<<10)})
		}},
	} {
		got, err := identity.ReadNodeCertificate(certified(t, nodeKey(), c.change))
		if fault.SlugOf(err) != c.slug || fault.KindOf(err) != fault.Invalid || !got.SPIFFEID.IsZero() {
			t.Errorf("%s: %v, want %s", c.what, err, c.slug)
		}
	}
}

// A key that is of no sort on the list, or for which anybody can sign, is refused.
func TestReadNodeCertificateRefusesKeys(t *testing.T) {
	t.Parallel()
	n := new(big.Int).Lsh(big.NewInt(1), 2047)
	for what, key := range map[string]crypto.PublicKey{
		"RSA 2048": &rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537},
		"P-224":    &curveKey(t, elliptic.P224()).PublicKey, "P-521": &curveKey(t, elliptic.P521()).PublicKey,
		"the identity": ed25519.PublicKey(append([]byte{1}, make([]byte, 31)...)),
	} {
		_, err := identity.ReadNodeCertificate(certified(t, key, nil))
		if fault.SlugOf(err) != "certificate_key_weak" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Bytes that are not exactly one certificate of today's form are refused.
func TestReadNodeCertificateOfNone(t *testing.T) {
	t.Parallel()
	good := certified(t, nodeKey(), nil)
	for what, der := range map[string][]byte{
		"nothing": nil, "prose": []byte("a certificate"), "cut": good[:len(good)/2], "more": append(slices.Clone(good), 0),
		"two": slices.Concat(good, good),
	} {
		_, err := identity.ReadNodeCertificate(der)
		if fault.SlugOf(err) != "certificate_malformed" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := identity.NodeCertificateOf(&x509.Certificate{}); fault.SlugOf(err) != "certificate_malformed" {
		t.Errorf("a certificate that was never parsed: %v", err)
	}
	// An algorithm that Go does not know stands in for one that is weak.
	unknown := bytes.ReplaceAll(certified(t, &curveKey(t, elliptic.P256()).PublicKey, nil), []byte{6, 3, 0x2b, 0x65, 0x70}, []byte{6, 3, 0x2b, 0x65, 0x71})
	if _, err := identity.ReadNodeCertificate(unknown); fault.SlugOf(err) != "certificate_signature_weak" {
		t.Errorf("another algorithm: %v", err)
	}
}

// Each key that is refused for its order is one that anybody can sign for, with no private key at all.
func TestSmallOrderKeysSignByThemselves(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"0000000000000000000000000000000000000000000000000000000000000080",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	} {
		key, err := hex.DecodeString(text)
		must(t, err)
		forged := append(append([]byte{1}, make([]byte, 31)...), make([]byte, 32)...) // R is the identity, S is zero
		forgeable := slices.ContainsFunc(make([]byte, 64), func() func(byte) bool {
			i := byte(0)
			return func(byte) bool { i++; return ed25519.Verify(key, []byte{i}, forged) }
		}())
		if !forgeable {
			t.Errorf("%s is a key like any other", text)
		}
		if _, err := identity.ReadNodeCertificate(certified(t, ed25519.PublicKey(key), nil)); fault.SlugOf(err) != "certificate_key_weak" {
			t.Errorf("%s: %v", text, err)
		}
	}
}
