package ingress_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"
)

// authority is a certificate authority of a test.
type authority struct {
	cert  *x509.Certificate
	key   crypto.Signer
	chain [][]byte // between this one and its root
}

func newKey(tb testing.TB) crypto.Signer {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(tb, err)
	return key
}

func serial() *big.Int {
	n, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return n
}

func authorityTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
}

func newAuthority(tb testing.TB, name string) *authority {
	tb.Helper()
	key := newKey(tb)
	t := authorityTemplate(name)
	return &authority{cert: signed(tb, t, t, key.Public(), key), key: key}
}

// below is an authority that this one vouches for.
func (a *authority) below(tb testing.TB, t *x509.Certificate) *authority {
	tb.Helper()
	key := newKey(tb)
	c := signed(tb, t, a.cert, key.Public(), a.key)
	return &authority{cert: c, key: key, chain: append([][]byte{c.Raw}, a.chain...)}
}

func signed(tb testing.TB, t, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) *x509.Certificate {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, t, parent, public, by)
	must(tb, err)
	c, err := x509.ParseCertificate(der)
	must(tb, err)
	return c
}

func (a *authority) pem() []byte {
	return pemOf("CERTIFICATE", a.cert.Raw)
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// issue signs a certificate for a new key.
func (a *authority) issue(tb testing.TB, t *x509.Certificate) *tls.Certificate {
	tb.Helper()
	return a.issueFor(tb, t, newKey(tb))
}

func (a *authority) issueFor(tb testing.TB, t *x509.Certificate, key crypto.Signer) *tls.Certificate {
	tb.Helper()
	c := signed(tb, t, a.cert, key.Public(), a.key)
	return &tls.Certificate{Certificate: append([][]byte{c.Raw}, a.chain...), PrivateKey: key, Leaf: c}
}

func nodeTemplate(uris ...string) *x509.Certificate {
	t := &x509.Certificate{
		SerialNumber: serial(), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			panic(err)
		}
		t.URIs = append(t.URIs, u)
	}
	return t
}

func serverTemplate() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: serial(), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}
