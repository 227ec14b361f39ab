package trust

import (
	"context"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// RotateCredentialRequest asks for a node's next certificate.
type RotateCredentialRequest struct {
	Caller identity.Caller // by the certificate that the next one follows
	Ticket store.Ticket
	CSR    []byte // PEM
}

// RotateCredential signs a node's next certificate and admits it as prepared. The one the node asked with stays good until
// the next is used first, so that a lost answer locks nobody out (I5); asking again makes another. A certificate that was
// revoked or superseded meanwhile is followed by none.
//
// Faults: those of identity.ReadCertificateRequest and identity.CheckCredential; Unauthenticated assertion_replayed;
// Conflict node_retired; Unavailable ca_unavailable, ca_not_ready, ca_absent.
func (t *Trust) RotateCredential(ctx context.Context, in RotateCredentialRequest) (Enrolled, error) {
	if err := authorization.Decide(authorization.OpRotateCredential, placement.RoleStranger, placement.PhaseNone); err != nil {
		return Enrolled{}, err
	}
	csr, err := identity.ReadCertificateRequest(in.CSR)
	if err != nil {
		return Enrolled{}, err
	}
	var order issuing
	err = t.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		id, err := t.nodeIdentity(ctx, r, in.Caller.Node)
		if err != nil {
			return err
		}
		order, err = t.issuing(ctx, r, id, csr)
		return err
	})
	if err != nil {
		return Enrolled{}, err
	}
	signed, err := t.sign(ctx, order)
	if err != nil {
		return Enrolled{}, err
	}
	var out Enrolled
	actor := audit.Actor{Kind: audit.ActorNode, ID: in.Caller.Node, Source: in.Caller.Fingerprint}
	err = t.commit(ctx, actor, func(ctx context.Context, w *work) error {
		if err := w.Nonces.Spend(ctx, in.Ticket); err != nil {
			return err
		}
		if err := t.mayRotate(ctx, w, in.Caller); err != nil {
			return err
		}
		out, err = t.admitSigned(ctx, w, signed, identity.RotatedOver(in.Caller.Fingerprint))
		return err
	})
	if err != nil {
		return Enrolled{}, err
	}
	return out, nil
}

// mayRotate judges the caller once more, in the transaction in which its certificate gets a successor.
func (t *Trust) mayRotate(ctx context.Context, w *work, caller identity.Caller) error {
	id, err := t.nodeIdentity(ctx, w.Roles, caller.Node)
	if err != nil {
		return err
	}
	set, err := w.credentials(ctx, caller.Node)
	if err != nil {
		return err
	}
	return t.refused(identity.CheckCredential(set.Find(caller.Fingerprint), id, w.now))
}
