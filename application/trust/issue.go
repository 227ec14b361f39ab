package trust

import (
	"context"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca"
	"berth/ports/signer"
	"berth/ports/store"
)

// Enrolled is a certificate that was signed for a node and admitted, and what the node needs beside it.
type Enrolled struct {
	Node        string
	SPIFFEID    string
	Fingerprint string
	Certificate []byte   // DER
	Chain       [][]byte // DER, what stands between it and a root
	Bundle      Bundle
	ExpiresAt   time.Time
	RenewAfter  time.Time // half of its life
	ServerTime  time.Time
}

// issuing is a certificate that may be signed: for whom, for which key, and by which.
type issuing struct {
	id     identity.SPIFFEID
	csr    identity.CertificateRequest
	issuer identity.SigningKeyRecord
}

// issuing names the CA key that signs now. Faults: Unavailable ca_unavailable where none may, ca_not_ready where none is even
// believed yet, ca_absent where there is no CA.
func (t *Trust) issuing(ctx context.Context, r *store.Roles, id identity.SPIFFEID, csr identity.CertificateRequest) (issuing, error) {
	if t.CA == nil {
		return issuing{}, ca.Absent()
	}
	ring, err := ringOf(ctx, r, identity.KeyForCA)
	if err != nil {
		return issuing{}, err
	}
	now := t.Clock.Now()
	if len(ring.Published(now)) == 0 {
		return issuing{}, ca.NotReady()
	}
	issuer, err := ring.Signing(now)
	if err != nil {
		return issuing{}, ca.Away(err)
	}
	return issuing{id: id, csr: csr, issuer: issuer}, nil
}

// signed is a certificate that nobody was given yet.
type signed struct {
	Enrolled
	id       identity.SPIFFEID
	issuer   string // the CA key's kid
	issuedAt time.Time
}

// sign has the authority sign, outside any transaction. A certificate that is not admitted afterwards opens nothing: what
// counts is the stored fingerprint (I4).
func (t *Trust) sign(ctx context.Context, o issuing) (signed, error) {
	now := t.Clock.Now()
	validity := o.issuer.Dates(now, t.Settings.NodeLife)
	issued, err := t.CA.Certify(ctx, ca.Order{
		Issuer:   ca.Issuer{Ref: signer.KeyRef(o.issuer.Ref), Root: o.issuer.Certificate},
		SPIFFEID: o.id, Public: o.csr.PublicKey, Serial: t.serial(), Validity: validity,
	})
	if err != nil {
		return signed{}, err
	}
	c, err := identity.ReadNodeCertificate(issued.Certificate)
	if err != nil || c.SPIFFEID != o.id {
		return signed{}, fault.New(fault.Internal, "ca_disobeyed", "the certificate authority signed something else than was ordered").Because(err)
	}
	validity = identity.Validity{NotBefore: c.NotBefore, NotAfter: c.NotAfter} // an authority may shorten it
	return signed{id: o.id, issuer: o.issuer.KID, issuedAt: c.NotBefore, Enrolled: Enrolled{
		Node: o.id.Node(), SPIFFEID: o.id.String(), Fingerprint: c.Fingerprint, Certificate: issued.Certificate, Chain: issued.Chain,
		ExpiresAt: c.NotAfter, RenewAfter: validity.RenewAfter(), ServerTime: now,
	}}, nil
}

// admitSigned admits a certificate that the node's record still names, unless the key that signed it was found
// compromised meanwhile.
func (t *Trust) admitSigned(ctx context.Context, w *work, s signed, by string) (Enrolled, error) {
	ring, err := ringOf(ctx, w.Roles, identity.KeyForCA)
	if err != nil {
		return Enrolled{}, err
	}
	if err := ring.Verifies(s.issuer, w.now); err != nil {
		return Enrolled{}, ca.Away(err)
	}
	if err := w.makeRoom(ctx, s.Node); err != nil {
		return Enrolled{}, err
	}
	if _, err := w.admit(ctx, s.Node, identity.Admission{
		SPIFFEID: s.id, Fingerprint: s.Fingerprint, IssuedAt: s.issuedAt, ExpiresAt: s.ExpiresAt, AdmittedBy: by,
	}); err != nil {
		return Enrolled{}, err
	}
	s.Bundle, err = t.bundle(ring)
	return s.Enrolled, err
}

// makeRoom takes the place of a certificate that nobody came to use.
func (w *work) makeRoom(ctx context.Context, node string) error {
	set, err := w.credentials(ctx, node)
	if err != nil {
		return err
	}
	out := set.MakeRoom(w.now)
	if out == nil {
		return nil
	}
	if err := w.Credentials.Save(ctx, out); err != nil {
		return err
	}
	return w.note(ctx, "credential.superseded", "node/"+node, map[string]string{
		"fingerprint": out.Fingerprint(), "reason": "too many were never used",
	})
}
