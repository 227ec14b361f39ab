package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// ServerName is the name in the certificate that replicas serve with.
const ServerName = "api.berth.test"

// credentials are a certificate that trusts itself, and its key.
type credentials struct {
	cert tls.Certificate
	leaf *x509.Certificate
	pem  struct{ chain, key string }
}

func newCredentials(t testing.TB, names ...string) credentials {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(60 * 24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	var c credentials
	c.pem.chain = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	c.pem.key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	c.leaf, err = x509.ParseCertificate(der)
	must(t, err)
	c.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return c
}

// pin is the SHA-256 of the public key, as internal_client_pins takes it.
func (c credentials) pin() string {
	sum := sha256.Sum256(c.leaf.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// trusting is a client's side: it takes a server with these credentials under a name, and shows its own if it has some.
func (c credentials) trusting(name string, own ...tls.Certificate) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(c.leaf)
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: name, Certificates: own}
}
