package proof

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"net/url"
	"strings"
	"time"
)

// shape is a certificate that is wrong in one way: by its SPIFFE id, by what else it holds, or by its key.
type shape struct {
	what, tries string
	id          func(domain, region, node string) string // nil for the node's own
	bend        func(*x509.Certificate)
	key         func() (crypto.Signer, error) // nil for P-256
}

const scheme = "spiffe://"

func relayID(domain, region, node string) string {
	return scheme + domain + "/relay/" + region + "/" + node
}

// shapes are certificates that a believed CA might sign by mistake or by malice (I1).
func shapes() []shape {
	return append(idShapes(), append(nameShapes(), useShapes()...)...)
}

func idShapes() []shape {
	return []shape{
		{what: "upper-case-trust-domain", tries: "a SPIFFE id with an upper-case trust domain",
			id: func(d, r, n string) string { return relayID(strings.ToUpper(d), r, n) }},
		{what: "other-trust-domain", tries: "a SPIFFE id of another trust domain",
			id: func(_, r, n string) string { return relayID("other.example", r, n) }},
		{what: "trust-domain-suffix", tries: "a trust domain that only begins like ours",
			id: func(d, r, n string) string { return relayID(d+".other.example", r, n) }},
		{what: "long-path", tries: "a SPIFFE id with a path of 4 KiB",
			id: func(d, r, n string) string { return relayID(d, r, n+strings.Repeat("a", 4096)) }},
		{what: "wildcard-id", tries: "a SPIFFE id with * for the node",
			id: func(d, r, _ string) string { return relayID(d, r, "*") }},
		{what: "more-path", tries: "a SPIFFE id with a segment behind the node",
			id: func(d, r, n string) string { return relayID(d, r, n) + "/admin" }},
		{what: "less-path", tries: "a SPIFFE id without a node", id: func(d, r, _ string) string { return scheme + d + "/relay/" + r }},
		{what: "trailing-slash", tries: "a SPIFFE id with a slash at its end", id: func(d, r, n string) string { return relayID(d, r, n) + "/" }},
		{what: "dot-segments", tries: "a SPIFFE id with dot segments",
			id: func(d, r, n string) string { return scheme + d + "/relay/" + r + "/x/../" + n }},
		{what: "escaped-id", tries: "a SPIFFE id with an escape",
			id: func(d, r, n string) string { return relayID(d, r, "%"+hexOf(n[0])+n[1:]) }},
		{what: "query-in-id", tries: "a SPIFFE id with a query", id: func(d, r, n string) string { return relayID(d, r, n) + "?a=b" }},
		{what: "fragment-in-id", tries: "a SPIFFE id with a fragment", id: func(d, r, n string) string { return relayID(d, r, n) + "#a" }},
		{what: "port-in-id", tries: "a SPIFFE id with a port", id: func(d, r, n string) string { return relayID(d+":443", r, n) }},
		{what: "user-in-id", tries: "a SPIFFE id with user information", id: func(d, r, n string) string { return relayID("u@"+d, r, n) }},
		{what: "https-id", tries: "an https URI in place of a SPIFFE id",
			id: func(d, r, n string) string { return "https://" + d + "/relay/" + r + "/" + n }},
		{what: "other-role", tries: "a SPIFFE id of something that is no relay",
			id: func(d, r, n string) string { return scheme + d + "/operator/" + r + "/" + n }},
	}
}

func hexOf(c byte) string {
	const digits = "0123456789ABCDEF"
	return string([]byte{digits[c>>4], digits[c&15]})
}

func nameShapes() []shape {
	return []shape{
		{what: "no-san", tries: "no alternative name; the SPIFFE id is the common name", bend: func(c *x509.Certificate) {
			c.Subject = pkix.Name{CommonName: c.URIs[0].String()}
			c.URIs = nil
		}},
		{what: "two-uris", tries: "two SPIFFE ids", bend: func(c *x509.Certificate) {
			other := *c.URIs[0]
			other.Path += "-other"
			c.URIs = append(c.URIs, &other)
		}},
		{what: "two-uris-other-first", tries: "another URI before the SPIFFE id", bend: func(c *x509.Certificate) {
			c.URIs = append([]*url.URL{{Scheme: "https", Host: "berth.example"}}, c.URIs...)
		}},
		{what: "dns-san", tries: "a DNS name beside the SPIFFE id", bend: func(c *x509.Certificate) { c.DNSNames = []string{"node.example"} }},
		{what: "wildcard-dns", tries: "a wildcard DNS name beside the SPIFFE id", bend: func(c *x509.Certificate) { c.DNSNames = []string{"*.example"} }},
		{what: "ip-san", tries: "an IP address beside the SPIFFE id", bend: func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }},
		{what: "email-san", tries: "an e-mail address beside the SPIFFE id", bend: func(c *x509.Certificate) { c.EmailAddresses = []string{"node@berth.example"} }},
	}
}

func useShapes() []shape {
	return []shape{
		{what: "expired", tries: "a certificate that has expired", bend: func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
		}},
		{what: "not-yet-valid", tries: "a certificate that is not valid yet", bend: func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
		}},
		{what: "ca-as-client", tries: "a CA's certificate shown by a client", bend: func(c *x509.Certificate) {
			c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		}},
		{what: "cert-sign", tries: "the key usage certSign", bend: func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCertSign }},
		{what: "no-signature", tries: "a key usage without digitalSignature", bend: func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }},
		{what: "server-only", tries: "an extended key usage for servers only", bend: func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}},
		{what: "code-signing", tries: "an extended key usage for code signing", bend: func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
		}},
		{what: "no-eku", tries: "no extended key usage", bend: func(c *x509.Certificate) { c.ExtKeyUsage = nil }},
		{what: "unknown-critical", tries: "a critical extension that nobody knows", bend: func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, 1}, Critical: true, Value: []byte{5, 0}}}
		}},
		{what: "rsa", tries: "an RSA key", key: func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2048) }},
		{what: "p521", tries: "a key on P-521", key: func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P521(), rand.Reader) }},
	}
}

func newEd25519() (crypto.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

// bends are what the shape does to a sound certificate.
func (sh shape) bends() []func(*x509.Certificate) {
	if sh.bend == nil {
		return nil
	}
	return []func(*x509.Certificate){sh.bend}
}
