// Package builtinca is Berth's own certificate authority: it writes certificates and has the key management service sign
// them (I5, I7).
package builtinca

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca"
	"berth/ports/signer"
)

// CA signs with the keys of a signer. It is safe for concurrent use.
type CA struct{ signer signer.Signer }

var _ ca.BuiltIn = (*CA)(nil)

// New returns the authority whose keys a signer has.
func New(s signer.Signer) *CA { return &CA{s} }

// Certify signs a node certificate by the issuer's key.
func (c *CA) Certify(ctx context.Context, o ca.Order) (ca.Issued, error) {
	if err := ca.Ended(ctx); err != nil {
		return ca.Issued{}, err
	}
	root, err := x509.ParseCertificate(o.Issuer.Root)
	if err != nil {
		return ca.Issued{}, ca.Refused("the issuer has no root").Because(err)
	}
	if o.SPIFFEID.IsZero() || !mayName(root, o.SPIFFEID.TrustDomain()) {
		return ca.Issued{}, ca.Refused("the issuer signs for another trust domain")
	}
	if o.Validity.NotBefore.Before(root.NotBefore) || o.Validity.NotAfter.After(root.NotAfter) {
		return ca.Issued{}, ca.Refused("it would outlive its issuer")
	}
	template, err := leaf(o)
	if err != nil {
		return ca.Issued{}, err
	}
	der, err := c.sign(ctx, o.Issuer.Ref, root, template, o.Public)
	if err != nil {
		return ca.Issued{}, err
	}
	// The one reader of node certificates has the last word: what it refuses nobody could use.
	if _, err := identity.ReadNodeCertificate(der); err != nil {
		return ca.Issued{}, ca.Refused("it would not be a node's").Because(err)
	}
	return ca.Issued{Certificate: der}, nil
}

// leaf is a certificate for both ends of TLS, since nodes connect to one another. It has no subject: its name is the one
// alternative name.
func leaf(o ca.Order) (*x509.Certificate, error) {
	id, err := url.Parse(o.SPIFFEID.String())
	if err != nil {
		return nil, ca.Refused("its name is no URI").Because(err)
	}
	return &x509.Certificate{
		SerialNumber: serial(o.Serial), NotBefore: o.Validity.NotBefore, NotAfter: o.Validity.NotAfter,
		URIs: []*url.URL{id}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}, nil
}

// SelfSign makes a key's root certificate: of nodes, of one trust domain, and of no further authority.
func (c *CA) SelfSign(ctx context.Context, r ca.Root) ([]byte, error) {
	if err := ca.Ended(ctx); err != nil {
		return nil, err
	}
	if len(r.Public) != ed25519.PublicKeySize || r.Name == "" || len(r.Name) > 64 || r.TrustDomain == "" {
		return nil, ca.Refused("a root has an Ed25519 key, a name and a trust domain")
	}
	template := &x509.Certificate{
		SerialNumber: serial(r.Serial), Subject: pkix.Name{CommonName: r.Name},
		NotBefore: r.Validity.NotBefore, NotAfter: r.Validity.NotAfter,
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	if slices.Contains(strings.Split(r.TrustDomain, "."), "") { // crypto/x509 reads no certificate that names it
		return nil, ca.Refused("the trust domain has an empty label")
	}
	if constrainable(r.TrustDomain) {
		template.PermittedDNSDomainsCritical = true // of all name constraints, for all that its name says
		template.PermittedURIDomains = []string{r.TrustDomain}
	}
	return c.sign(ctx, r.Ref, template, template, r.Public)
}

// constrainable tells whether a trust domain can stand in a name constraint, which holds host names (RFC 5280 §4.2.1.10):
// SPIFFE allows more, such as what reads as an IP address. Without the constraint the readers of certificates are what
// keeps trust domains apart.
func constrainable(trustDomain string) bool {
	_, err := netip.ParseAddr(trustDomain)
	return err != nil && !strings.Contains(trustDomain, "_")
}

func mayName(root *x509.Certificate, trustDomain string) bool {
	permitted := root.PermittedURIDomains
	return len(permitted) == 0 || len(permitted) == 1 && permitted[0] == trustDomain
}

// serial is positive and never longer than its bytes.
func serial(random [ca.SerialBytes]byte) *big.Int {
	random[0] = random[0]&0x3f | 0x40
	return new(big.Int).SetBytes(random[:])
}

func (c *CA) sign(ctx context.Context, ref signer.KeyRef, parent, template *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	if !template.NotBefore.Before(template.NotAfter) {
		return nil, ca.Refused("its validity ends before it begins")
	}
	if _, err := identity.KeyDigest(public); err != nil {
		return nil, ca.Refused("its key cannot be written").Because(err)
	}
	issuer := parent.PublicKey
	if parent == template {
		issuer = public
	}
	// It verifies what it signed: a service that signs by another key than the root's is one that does not work.
	der, err := x509.CreateCertificate(nil, template, parent, public, &remote{ctx, c.signer, ref, issuer})
	if err != nil {
		return nil, ca.Away(err)
	}
	return der, nil
}

// remote is a key of the signer as crypto/x509 wants it.
type remote struct {
	ctx    context.Context //nolint:containedctx // crypto.Signer has no place for it
	signer signer.Signer
	ref    signer.KeyRef
	public crypto.PublicKey
}

func (r *remote) Public() crypto.PublicKey { return r.public }

// Sign signs the message itself: Ed25519 takes no digest.
func (r *remote) Sign(_ io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	if opts.HashFunc() != crypto.Hash(0) {
		return nil, fault.New(fault.Internal, "ca_key_kind", "the authority's keys are Ed25519")
	}
	return r.signer.Sign(r.ctx, r.ref, message)
}
