package relayload

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// originName is the name of the region's origin, and of everything else here.
const originName = "eu.relay.test"

// credentials are one certificate that trusts itself, of every server of a site.
type credentials struct {
	cert, key string // files
	trust     *tls.Config
	own       tls.Certificate
}

func newCredentials(tb testing.TB, dir string) credentials {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(tb, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: originName}, DNSNames: []string{originName},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(tb, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(tb, err)
	leaf, err := x509.ParseCertificate(der)
	must(tb, err)
	c := credentials{
		cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key"),
		own: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
	}
	must(tb, os.WriteFile(c.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(tb, os.WriteFile(c.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	c.trust = &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: originName}
	return c
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
