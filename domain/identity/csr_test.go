package identity_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/domain/identity"
)

func privateKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed([]byte(strings.Repeat("n", 32))) }

func request(tb testing.TB, key crypto.Signer, r x509.CertificateRequest) []byte {
	tb.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &r, key)
	must(tb, err)
	return requestPEM(der)
}

func requestPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func requestDER(text []byte) []byte {
	block, _ := pem.Decode(text)
	return block.Bytes
}

// A request for each sort of key is read, and its key is recognised by its SPKI; a common name is ignored.
func TestReadCertificateRequest(t *testing.T) {
	t.Parallel()
	for _, key := range []crypto.Signer{privateKey(), curveKey(t, elliptic.P256()), curveKey(t, elliptic.P384())} {
		for _, subject := range []pkix.Name{{}, {CommonName: "n1"}} {
			got, err := identity.ReadCertificateRequest(request(t, key, x509.CertificateRequest{Subject: subject}))
			must(t, err)
			spki, err := x509.MarshalPKIXPublicKey(key.Public())
			must(t, err)
			if got.KeyDigest != sha256.Sum256(spki) {
				t.Errorf("%T: another key was read", key)
			}
			if same, ok := got.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !same.Equal(key.Public()) {
				t.Errorf("%T: read as the key %v", key, got.PublicKey)
			}
		}
	}
}

// Whatever asks for more than a certificate for its key is refused, each by a slug of its own.
func TestReadCertificateRequestRefuses(t *testing.T) {
	t.Parallel()
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	raw := func(r x509.CertificateRequest) []byte { return request(t, privateKey(), r) }
	plain := raw(x509.CertificateRequest{})
	ca, err := asn1.Marshal(struct{ IsCA bool }{true})
	must(t, err)
	challenge := pkix.AttributeTypeAndValueSET{
		Type:  asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 2}, // unstructuredName
		Value: [][]pkix.AttributeTypeAndValue{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "n2"}}},
	}
	forged := requestDER(plain)
	forged[len(forged)-1] ^= 1
	for what, c := range map[string]struct {
		slug string
		text []byte
	}{
		"a DNS name":     {"csr_extensions", raw(x509.CertificateRequest{DNSNames: []string{"n1.berth.example"}})},
		"an IP":          {"csr_extensions", raw(x509.CertificateRequest{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})},
		"a mail address": {"csr_extensions", raw(x509.CertificateRequest{EmailAddresses: []string{"n1@berth.example"}})},
		"a SPIFFE id": {"csr_extensions", raw(x509.CertificateRequest{
			URIs: []*url.URL{{Scheme: "spiffe", Host: "berth.example", Path: "/relay/eu/n2"}},
		})},
		"a CA": {"csr_extensions", raw(x509.CertificateRequest{
			ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: ca}},
		})},
		"an attribute":        {"csr_attributes", raw(x509.CertificateRequest{Attributes: []pkix.AttributeTypeAndValueSET{challenge}})}, //nolint:staticcheck // how else would one get in
		"a unit":              {"csr_subject", raw(x509.CertificateRequest{Subject: pkix.Name{CommonName: "n1", OrganizationalUnit: []string{"ops"}}})},
		"a unit alone":        {"csr_subject", raw(x509.CertificateRequest{Subject: pkix.Name{OrganizationalUnit: []string{"ops"}}})},
		"two names":           {"csr_subject", raw(x509.CertificateRequest{Subject: pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{cn("n1"), cn("n2")}}})},
		"an RSA key":          {"csr_key_weak", request(t, weak, x509.CertificateRequest{})},
		"P-224":               {"csr_key_weak", request(t, curveKey(t, elliptic.P224()), x509.CertificateRequest{})},
		"P-521":               {"csr_key_weak", request(t, curveKey(t, elliptic.P521()), x509.CertificateRequest{})},
		"another's signature": {"csr_signature_invalid", requestPEM(forged)},
		"trailing DER":        {"csr_malformed", requestPEM(append(requestDER(plain), 0))},
		"two blocks":          {"csr_malformed", []byte(string(plain) + string(plain))},
		"prose in front":      {"csr_malformed", []byte("hello\n" + string(plain))},
		"prose behind":        {"csr_malformed", []byte(string(plain) + "hello")},
		"a header":            {"csr_malformed", []byte(strings.Replace(string(plain), "-----\n", "-----\nA: b\n\n", 1))},
		"another type":        {"csr_malformed", []byte(strings.ReplaceAll(string(plain), "CERTIFICATE REQUEST", "CERTIFICATE"))},
		"an old type":         {"csr_malformed", []byte(strings.ReplaceAll(string(plain), "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"))},
		"garbage":             {"csr_malformed", requestPEM([]byte("garbage"))},
		"nothing":             {"csr_malformed", nil},
		"huge":                {"csr_malformed", []byte(string(plain) + strings.Repeat(" ", 8<<10))},
		"cut":                 {"csr_malformed", plain[:len(plain)/2]},
	} {
		got, err := identity.ReadCertificateRequest(c.text)
		if fault.SlugOf(err) != c.slug || fault.KindOf(err) != fault.Invalid || got.PublicKey != nil {
			t.Errorf("%s: %v, want %s", what, err, c.slug)
		}
	}
}

func cn(name string) pkix.AttributeTypeAndValue {
	return pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: name}
}

// A key for which anybody can sign gets no certificate, though its request is signed.
func TestReadCertificateRequestOfASmallOrderKey(t *testing.T) {
	t.Parallel()
	_, err := identity.ReadCertificateRequest(request(t, signsForNothing{}, x509.CertificateRequest{}))
	wantFault(t, err, fault.Invalid, "csr_key_weak")
}

// signsForNothing is the identity as a public key: its signatures need no private key.
type signsForNothing struct{ crypto.Signer }

func (signsForNothing) Public() crypto.PublicKey {
	return ed25519.PublicKey(append([]byte{1}, make([]byte, 31)...))
}

func (signsForNothing) Sign(_ io.Reader, _ []byte, _ crypto.SignerOpts) ([]byte, error) {
	return append(append([]byte{1}, make([]byte, 31)...), make([]byte, 32)...), nil
}
