package trust

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// AdmitCredentialRequest is a node certificate that a CA outside Berth issued.
type AdmitCredentialRequest struct {
	Actor       audit.Actor
	Node        string
	Certificate []byte // PEM, one certificate and nothing else
}

// AdmitCredential admits a certificate for a node as prepared; its first use makes it current (I5). Admitting it again
// changes nothing. The chain to the CA is not looked at here: the ingress is the one that verifies it.
//
// Faults: those of identity.ReadNodeCertificate, where a name that is no node's is certificate_of_another_node; Invalid
// certificate_expired, certificate_life_too_long, certificate_of_another_node; NotFound
// node_not_found; Conflict node_retired; AlreadyExists credential_exists.
func (t *Trust) AdmitCredential(ctx context.Context, in AdmitCredentialRequest) (identity.CredentialRecord, error) {
	cert, err := readCertificate(in.Certificate, t.Settings.CertificateLife, t.Clock.Now())
	if err != nil {
		return identity.CredentialRecord{}, err
	}
	var out identity.CredentialRecord
	err = t.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		id, err := t.nodeIdentity(ctx, w.Roles, in.Node)
		if err != nil {
			return err
		}
		if cert.SPIFFEID != id {
			return certificateFault("certificate_of_another_node", "its SPIFFE id is not %s", id)
		}
		admission := identity.Admission{
			SPIFFEID: id, Fingerprint: cert.Fingerprint, IssuedAt: cert.NotBefore, ExpiresAt: cert.NotAfter,
			AdmittedBy: "operator/" + in.Actor.ID,
		}
		out, err = w.admit(ctx, in.Node, admission)
		return err
	})
	if err != nil {
		return identity.CredentialRecord{}, err
	}
	return out, nil
}

// nodeIdentity is the SPIFFE id that a node's certificates must name.
func (t *Trust) nodeIdentity(ctx context.Context, r *store.Roles, node string) (identity.SPIFFEID, error) {
	n, err := r.Nodes.Get(ctx, node)
	if err != nil {
		return identity.SPIFFEID{}, err
	}
	if n.Record().Status == placement.NodeRetired {
		return identity.SPIFFEID{}, fault.New(fault.Conflict, "node_retired", "node %s is retired", node).
			Curable("define a node under another id")
	}
	return identity.RelayID(t.Settings.TrustDomain, n.Record().Region, node)
}

func (w *work) admit(ctx context.Context, node string, a identity.Admission) (identity.CredentialRecord, error) {
	set, err := w.credentials(ctx, node)
	if err != nil {
		return identity.CredentialRecord{}, err
	}
	added, err := set.Admit(a, w.now)
	if err != nil {
		return identity.CredentialRecord{}, err
	}
	out := set.Find(a.Fingerprint).Record()
	if added == nil {
		return out, nil
	}
	if err := w.Credentials.Create(ctx, added); err != nil {
		return identity.CredentialRecord{}, err
	}
	return out, w.note(ctx, "credential.admitted", "node/"+node, map[string]string{
		"fingerprint": a.Fingerprint, "spiffe_id": out.SPIFFEID, "expires_at": out.ExpiresAt.Format(time.RFC3339),
		"admitted_by": a.AdmittedBy,
	})
}
