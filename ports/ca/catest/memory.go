package catest

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/url"
	"sync"

	"berth/domain/identity"
	"berth/ports/ca"
	"berth/ports/signer"
)

// Memory is a certificate authority for tests of what uses one. Its keys are a signer's; it fails when it is told to, and
// calls back at the moment at which a process may be killed. Use NewMemory.
type Memory struct {
	signer     signer.Signer
	leaf, root func(*x509.Certificate) // what a mutant changes before it is signed

	mu     sync.Mutex
	broken error
	signed func()
}

var _ ca.BuiltIn = (*Memory)(nil)

// NewMemory returns an authority over a signer's keys.
func NewMemory(s signer.Signer) *Memory { return &Memory{signer: s} }

// Break makes every call fail with Unavailable ca_unavailable because of cause, until Break(nil).
func (m *Memory) Break(cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = cause
}

// WhenSigned is called after each node certificate was signed and before whoever ordered it has it.
func (m *Memory) WhenSigned(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signed = do
}

func (m *Memory) ready(ctx context.Context) (signed func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return nil, ca.Away(m.broken)
	}
	return m.signed, ca.Ended(ctx)
}

// Certify signs a node certificate.
func (m *Memory) Certify(ctx context.Context, o ca.Order) (ca.Issued, error) {
	signed, err := m.ready(ctx)
	if err != nil {
		return ca.Issued{}, err
	}
	root, err := x509.ParseCertificate(o.Issuer.Root)
	if err != nil {
		return ca.Issued{}, ca.Refused("there is no root").Because(err)
	}
	outlives := o.Validity.NotBefore.Before(root.NotBefore) || o.Validity.NotAfter.After(root.NotAfter)
	foreign := len(root.PermittedURIDomains) > 0 && root.PermittedURIDomains[0] != o.SPIFFEID.TrustDomain()
	id, err := url.Parse(o.SPIFFEID.String())
	if outlives || foreign || err != nil {
		return ca.Issued{}, ca.Refused("it is not the issuer's to sign")
	}
	template := &x509.Certificate{
		SerialNumber: positive(o.Serial), NotBefore: o.Validity.NotBefore, NotAfter: o.Validity.NotAfter, URIs: []*url.URL{id},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	if m.leaf != nil {
		m.leaf(template)
	}
	der, err := m.sign(ctx, o.Issuer.Ref, template, root, o.Public)
	if err != nil {
		return ca.Issued{}, err
	}
	if _, err := identity.ReadNodeCertificate(der); err != nil && m.leaf == nil {
		return ca.Issued{}, ca.Refused("it would be no node's").Because(err)
	}
	if signed != nil {
		signed()
	}
	return ca.Issued{Certificate: der}, nil
}

// SelfSign makes a root.
func (m *Memory) SelfSign(ctx context.Context, r ca.Root) ([]byte, error) {
	if _, err := m.ready(ctx); err != nil {
		return nil, err
	}
	if r.Name == "" || r.TrustDomain == "" || len(r.Public) != ed25519.PublicKeySize {
		return nil, ca.Refused("a root has a key, a name and a trust domain")
	}
	template := &x509.Certificate{
		SerialNumber: positive(r.Serial), Subject: pkix.Name{CommonName: r.Name}, NotBefore: r.Validity.NotBefore,
		NotAfter: r.Validity.NotAfter, KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		MaxPathLenZero: true, PermittedDNSDomainsCritical: true, PermittedURIDomains: []string{r.TrustDomain},
	}
	if m.root != nil {
		m.root(template)
	}
	return m.sign(ctx, r.Ref, template, template, r.Public)
}

func (m *Memory) sign(ctx context.Context, ref signer.KeyRef, template, parent *x509.Certificate, public any) ([]byte, error) {
	if !template.NotBefore.Before(template.NotAfter) {
		return nil, ca.Refused("it ends before it begins")
	}
	if _, err := identity.KeyDigest(public); err != nil {
		return nil, ca.Refused("there is no key").Because(err)
	}
	key := parent.PublicKey
	if parent == template {
		key = public
	}
	der, err := x509.CreateCertificate(nil, template, parent, public, signing{ctx, m.signer, ref, key})
	if err != nil {
		return nil, ca.Away(err)
	}
	return der, nil
}

func positive(serial [ca.SerialBytes]byte) *big.Int {
	serial[0] = serial[0]&0x3f | 0x40
	return new(big.Int).SetBytes(serial[:])
}

type signing struct {
	ctx    context.Context //nolint:containedctx // crypto.Signer has no place for it
	signer signer.Signer
	ref    signer.KeyRef
	public crypto.PublicKey
}

func (s signing) Public() crypto.PublicKey { return s.public }

func (s signing) Sign(_ io.Reader, message []byte, _ crypto.SignerOpts) ([]byte, error) {
	return s.signer.Sign(s.ctx, s.ref, message)
}
