// Package devca is the certificate authority of berthd dev. It signs for loopback and for the nodes of one trust domain
// only, so that a person who trusts it trusts it for nothing else. Its keys are files of mode 0600.
package devca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"berth/cmd/internal/secretfile"
)

const (
	caLife   = 365 * 24 * time.Hour
	leafLife = 90 * 24 * time.Hour
	renewal  = 30 * 24 * time.Hour // what is left when a certificate is made anew
	backdate = 5 * time.Minute     // for clocks that are behind
)

// CA signs certificates and keeps them and their keys in a directory.
type CA struct {
	dir         string
	trustDomain string
	now         time.Time
	pair        *tls.Certificate
	remade      bool
}

// Open returns the CA of a directory. One that is near its end, damaged or of another trust domain is made anew.
func Open(dir, trustDomain string, now time.Time) (*CA, error) {
	ca := &CA{dir: dir, trustDomain: trustDomain, now: now}
	pair, err := ca.read("ca")
	if err != nil {
		return nil, err
	}
	if pair == nil || !pair.Leaf.IsCA || !ca.fresh(pair.Leaf) || !ca.constrained(pair.Leaf) {
		if pair, err = ca.make("ca", ca.authority(), nil); err != nil {
			return nil, err
		}
		ca.remade = true
	}
	ca.pair = pair
	return ca, nil
}

// Remade says whether Open made the CA anew, so that whoever trusted the old one has to trust it.
func (ca *CA) Remade() bool { return ca.remade }

// File is the CA's certificate, for clients.
func (ca *CA) File() string { return ca.cert("ca") }

// Pool holds the CA's certificate.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.pair.Leaf)
	return pool
}

// Server returns the certificate of a server on loopback, by the name of its files, and where they are.
func (ca *CA) Server(name string) (pair *tls.Certificate, certFile, keyFile string, err error) {
	leaf := ca.leaf(name, x509.ExtKeyUsageServerAuth)
	leaf.DNSNames = []string{"localhost"}
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	pair, err = ca.issue(name, leaf)
	return pair, ca.cert(name), ca.key(name), err
}

// Node returns the certificate of a node, by its SPIFFE id.
func (ca *CA) Node(name, spiffeID string) (*tls.Certificate, error) {
	id, err := url.Parse(spiffeID)
	if err != nil {
		return nil, err
	}
	leaf := ca.leaf(name, x509.ExtKeyUsageClientAuth)
	leaf.ExtKeyUsage = append(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) // peers connect to one another
	leaf.URIs = []*url.URL{id}
	return ca.issue(name, leaf)
}

// issue returns what is kept under a name while it is good, and makes it anew otherwise.
func (ca *CA) issue(name string, leaf *x509.Certificate) (*tls.Certificate, error) {
	kept, err := ca.read(name)
	if err != nil {
		return nil, err
	}
	if kept != nil && ca.fresh(kept.Leaf) && kept.Leaf.CheckSignatureFrom(ca.pair.Leaf) == nil && same(kept.Leaf, leaf) {
		return kept, nil
	}
	return ca.make(name, leaf, ca.pair)
}

func same(a, b *x509.Certificate) bool {
	return fmt.Sprint(a.DNSNames, a.IPAddresses, a.URIs) == fmt.Sprint(b.DNSNames, b.IPAddresses, b.URIs)
}

func (ca *CA) fresh(c *x509.Certificate) bool {
	return !ca.now.Before(c.NotBefore) && ca.now.Before(c.NotAfter.Add(-renewal))
}

func (ca *CA) constrained(c *x509.Certificate) bool {
	return len(c.PermittedURIDomains) == 1 && c.PermittedURIDomains[0] == ca.trustDomain
}

func (ca *CA) authority() *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: "Berth development CA"},
		NotBefore: ca.now.Add(-backdate), NotAfter: ca.now.Add(caLife),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: []string{"localhost"},
		PermittedURIDomains: []string{ca.trustDomain},
		PermittedIPRanges: []*net.IPNet{
			{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)}, {IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)},
		},
	}
}

func (ca *CA) leaf(name string, usage x509.ExtKeyUsage) *x509.Certificate {
	ends := ca.now.Add(leafLife)
	if last := ca.pair.Leaf.NotAfter; ends.After(last) {
		ends = last
	}
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: "berth dev " + name}, NotBefore: ca.now.Add(-backdate), NotAfter: ends,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage}, BasicConstraintsValid: true,
	}
}

// make signs a certificate for a new key, by itself where there is no signer, and keeps both.
func (ca *CA) make(name string, template *x509.Certificate, by *tls.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	parent, signer := template, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	// The key first: a certificate without its key is made anew, a key without its certificate too.
	if err := secretfile.Write(ca.key(name), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})); err != nil {
		return nil, err
	}
	if err := secretfile.Write(ca.cert(name), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
		return nil, err
	}
	return ca.read(name)
}

// read returns what is kept under a name; nil where there is none, or no pair. A key that others may read is refused.
func (ca *CA) read(name string) (*tls.Certificate, error) {
	for _, path := range []string{ca.cert(name), ca.key(name)} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil //nolint:nilnil // there is none, and that is no error
		}
	}
	if _, err := secretfile.Read(ca.key(name)); err != nil {
		return nil, err
	}
	pair, err := secretfile.KeyPair(ca.cert(name), ca.key(name))
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // half written by a crash, it is made anew
	}
	return pair, nil
}

func (ca *CA) cert(name string) string { return filepath.Join(ca.dir, name+".pem") }

func (ca *CA) key(name string) string { return filepath.Join(ca.dir, name+"-key.pem") }
