package trust

import (
	"context"

	"berth/domain/identity"
	"berth/ports/store"
)

// Credentials lists every certificate that was admitted for a node, by time of issue. Fault: NotFound node_not_found.
func (t *Trust) Credentials(ctx context.Context, node string) ([]identity.CredentialRecord, error) {
	var out []identity.CredentialRecord
	err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		if _, err := r.Nodes.Get(ctx, node); err != nil {
			return err
		}
		all, err := r.Credentials.OfNode(ctx, node)
		out = credentialRecords(all)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func credentialRecords(all []*identity.Credential) []identity.CredentialRecord {
	out := make([]identity.CredentialRecord, 0, len(all))
	for _, c := range all {
		out = append(out, c.Record())
	}
	return out
}

func (w *work) credentials(ctx context.Context, node string) (*identity.Credentials, error) {
	return credentialsOf(ctx, w.Roles, node)
}

func credentialsOf(ctx context.Context, r *store.Roles, node string) (*identity.Credentials, error) {
	all, err := r.Credentials.OfNode(ctx, node)
	if err != nil {
		return nil, err
	}
	return identity.RestoreCredentials(node, credentialRecords(all)), nil
}
