package authoritytest

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/authority"
)

func (p *Control) newRoot() {
	p.key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: p.Clock.Now().Add(-time.Hour), NotAfter: p.Clock.Now().Add(100 * 365 * 24 * time.Hour),
	}
	p.root = must(x509.ParseCertificate(must(x509.CreateCertificate(nil, template, template, p.key.Public(), p.key))))
}

// Roots are who signed the certificates of nodes.
func (p *Control) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.root)
	return pool
}

// JoinToken makes a join token of a node.
func (p *Control) JoinToken(node string, life time.Duration) string {
	defer p.enter()()
	token := fmt.Sprintf("bj_%032d", len(p.tokens)+1)
	hash := identity.HashSecret(identity.JoinToken, token)
	p.tokens[hash] = must(identity.NewOneTimeSecret(identity.NewSecret{
		ID: fmt.Sprintf("jt_%d", len(p.tokens)+1), Hash: hash, Purpose: identity.JoinToken, Subject: node,
		ExpiresAt: p.Clock.Now().Add(life),
	}, p.Clock.Now()))
	return token
}

// Revoke revokes every certificate of a node.
func (p *Control) Revoke(node string) {
	defer p.enter()()
	n := p.nodes[node]
	for _, c := range n.credentials.Records() {
		_, _ = n.credentials.Revoke(c.Fingerprint, p.Clock.Now(), "test")
	}
}

// Credentials are a node's certificates.
func (p *Control) Credentials(node string) []identity.CredentialRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nodes[node].credentials.Records()
}

func (p *Control) enrol(joinToken string, csr []byte) (authority.Issued, error) {
	secret := p.tokens[identity.HashSecret(identity.JoinToken, joinToken)]
	if secret == nil {
		return authority.Issued{}, identity.JoinToken.Unknown()
	}
	asked, err := readRequest(csr)
	if err != nil {
		return authority.Issued{}, err
	}
	if err := secret.SpendBy(p.Clock.Now(), asked.KeyDigest); err != nil {
		return authority.Issued{}, err
	}
	return p.admit(secret.Record().Subject, asked)
}

func readRequest(csr []byte) (identity.CertificateRequest, error) {
	return identity.ReadCertificateRequest(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr}))
}

func (p *Control) admit(of string, asked identity.CertificateRequest) (authority.Issued, error) {
	id, now := p.spiffeID(of), p.Clock.Now()
	uri := must(url.Parse(id.String()))
	p.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(p.serial + 1), NotBefore: now.Add(-time.Minute), NotAfter: now.Add(p.Life), URIs: []*url.URL{uri},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(nil, template, p.root, asked.PublicKey, p.key)
	if err != nil {
		return authority.Issued{}, fault.New(fault.Internal, "internal", "signing failed").Because(err)
	}
	_, err = p.nodes[of].credentials.Admit(identity.Admission{
		SPIFFEID: id, Fingerprint: identity.FingerprintOf(der), IssuedAt: template.NotBefore, ExpiresAt: template.NotAfter, AdmittedBy: "test",
	}, now)
	return authority.Issued{Chain: [][]byte{der}, ServerTime: now}, err
}

// known judges the certificate that a node shows, and notes its use.
func (p *Control) known(of string, chain [][]byte) (*node, error) {
	n := p.nodes[of]
	if len(chain) == 0 || n == nil {
		return nil, fault.New(fault.Unavailable, "server_unreachable", "the handshake needs a certificate")
	}
	fingerprint := identity.FingerprintOf(chain[0])
	if err := identity.CheckCredential(n.credentials.Find(fingerprint), p.spiffeID(of), p.Clock.Now()); err != nil {
		return nil, err
	}
	if _, err := n.credentials.Use(fingerprint, p.Clock.Now()); err != nil {
		return nil, err
	}
	return n, nil
}
