package trust

import (
	"context"

	"berth/domain/audit"
	"berth/domain/identity"
	"berth/ports/notify"
)

// RevokeCredentialRequest names the certificate to revoke, and why.
type RevokeCredentialRequest struct {
	Actor       audit.Actor
	Node        string
	Fingerprint string
	Reason      string // may be empty
}

// RevokeCredential ends a certificate at once: the next request by it is refused, and a long poll that waits is refused
// as soon as it is hinted at, or else before it answers. Whatever was asked for over it ends with it, as
// Credentials.Revoke says. Repeating it, or revoking a superseded one, changes nothing.
// Faults: NotFound node_not_found, credential_not_found; Invalid text_out_of_bounds.
func (t *Trust) RevokeCredential(ctx context.Context, in RevokeCredentialRequest) (identity.CredentialRecord, error) {
	if in.Reason == "" {
		in.Reason = "not given"
	}
	var out identity.CredentialRecord
	err := t.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		if _, err := w.Nodes.Get(ctx, in.Node); err != nil {
			return err
		}
		set, err := w.credentials(ctx, in.Node)
		if err != nil {
			return err
		}
		ended, err := set.Revoke(in.Fingerprint, w.now, in.Reason)
		if err != nil {
			return err
		}
		out = set.Find(in.Fingerprint).Record()
		return w.revoked(ctx, in.Node, ended)
	})
	if err != nil {
		return identity.CredentialRecord{}, err
	}
	return out, nil
}

// revoked stores and notes what a revocation ended, each with its own reason.
func (w *work) revoked(ctx context.Context, node string, ended []*identity.Credential) error {
	if len(ended) > 0 {
		w.topics = append(w.topics, notify.Topic("node/"+node))
	}
	for _, c := range ended {
		if err := w.Credentials.Save(ctx, c); err != nil {
			return err
		}
		detail := map[string]string{"fingerprint": c.Fingerprint(), "reason": c.Record().RevokedReason}
		if err := w.note(ctx, "credential.revoked", "node/"+node, detail); err != nil {
			return err
		}
	}
	return nil
}
