package ingress

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
)

const maxChain = 5 // certificates that a client may show

// peer is the node at the other end of a connection, as its certificate proves it.
type peer struct {
	id          identity.SPIFFEID
	fingerprint string
	chain       []*x509.Certificate // as it was shown

	standing atomic.Pointer[standing]
}

// standing is how far a peer was verified: by which bundle, and until when that holds.
type standing struct {
	version uint64
	ends    time.Time
}

const certificateRequired = "certificate_required"

// verifier judges peers by the bundle that is in force.
type verifier struct {
	trust       *Trust
	trustDomain string
	now         func() time.Time
}

// identify judges the certificate that a client showed in its handshake: it has the form of a node's, is of this trust
// domain, and is signed by a root in force. Faults are those of identity.NodeCertificateOf; Invalid certificate_malformed;
// Unauthenticated certificate_required, certificate_trust_domain, certificate_untrusted, certificate_expired,
// certificate_not_yet_valid.
func (v *verifier) identify(state tls.ConnectionState) (*peer, error) {
	shown := state.PeerCertificates
	if len(shown) == 0 {
		return nil, fault.New(fault.Unauthenticated, certificateRequired, "the client shows no certificate")
	}
	if len(shown) > maxChain {
		return nil, fault.New(fault.Invalid, "certificate_malformed", "the client shows more than %d certificates", maxChain)
	}
	c, err := identity.NodeCertificateOf(shown[0])
	if err != nil {
		return nil, err
	}
	if c.SPIFFEID.TrustDomain() != v.trustDomain {
		return nil, fault.New(fault.Unauthenticated, "certificate_trust_domain", "the certificate is of another trust domain")
	}
	p := &peer{id: c.SPIFFEID, fingerprint: c.Fingerprint, chain: shown}
	return p, v.verify(p, v.trust.now.Load(), v.now())
}

// check refuses a peer whose certificate ended, or whose root left the bundle, since it was verified last.
func (v *verifier) check(p *peer) error {
	now, b, s := v.now(), v.trust.now.Load(), p.standing.Load()
	if b == nil || b.version != s.version {
		return v.verify(p, b, now)
	}
	if !now.Before(s.ends) {
		return fault.New(fault.Unauthenticated, "certificate_expired", "the certificate has ended")
	}
	return nil
}

func (v *verifier) verify(p *peer, b *bundle, now time.Time) error {
	if b == nil {
		return fault.New(fault.Unauthenticated, "certificate_untrusted", "no root is believed yet")
	}
	leaf := p.chain[0]
	switch {
	case now.Before(leaf.NotBefore):
		return fault.New(fault.Unauthenticated, "certificate_not_yet_valid", "the certificate is not valid yet")
	case !now.Before(leaf.NotAfter):
		return fault.New(fault.Unauthenticated, "certificate_expired", "the certificate has ended")
	}
	between := x509.NewCertPool()
	for _, c := range p.chain[1:] {
		between.AddCert(c)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: b.pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return untrusted(err)
	}
	p.standing.Store(&standing{version: b.version, ends: lasting(chains)})
	return nil
}

func untrusted(err error) error {
	f := fault.New(fault.Unauthenticated, "certificate_untrusted", "no root in force vouches for the certificate").Because(err)
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		f.Slug, f.Detail = "certificate_expired", "a certificate between this one and its root has ended"
	}
	return f
}

// lasting is until when the best of several chains holds: each ends with the first of its certificates.
func lasting(chains [][]*x509.Certificate) time.Time {
	var best time.Time
	for _, chain := range chains {
		ends := chain[0].NotAfter
		for _, c := range chain[1:] {
			if c.NotAfter.Before(ends) {
				ends = c.NotAfter
			}
		}
		if ends.After(best) {
			best = ends
		}
	}
	return best
}
