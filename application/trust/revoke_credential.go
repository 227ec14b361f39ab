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
// as soon as it is hinted at, or else before it answers. Repeating it, or revoking a superseded one, changes nothing.
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
		if ended == nil {
			return nil
		}
		if err := w.Credentials.Save(ctx, ended); err != nil {
			return err
		}
		w.topics = append(w.topics, notify.Topic("node/"+in.Node))
		return w.note(ctx, "credential.revoked", "node/"+in.Node, map[string]string{
			"fingerprint": in.Fingerprint, "reason": in.Reason,
		})
	})
	if err != nil {
		return identity.CredentialRecord{}, err
	}
	return out, nil
}
