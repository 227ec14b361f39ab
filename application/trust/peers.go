package trust

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// PeersRequest asks for the certificates that nodes may believe one another.
type PeersRequest struct {
	Caller identity.Caller
	Page   store.Page
}

// Peers lists the certificates in force of all nodes that are not retired, by fingerprint (R3). Any node may ask.
func (t *Trust) Peers(ctx context.Context, in PeersRequest) (store.List[identity.CredentialRecord], error) {
	if err := authorization.Decide(authorization.OpPeers, placement.RoleStranger, placement.PhaseNone); err != nil {
		return store.List[identity.CredentialRecord]{}, err
	}
	now := t.Clock.Now()
	var out store.List[identity.CredentialRecord]
	err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		page, err := store.Listed(in.Page, func(p store.Page) ([]*identity.Credential, error) {
			return r.Credentials.InForce(ctx, now, p)
		}, (*identity.Credential).Fingerprint)
		out = recordsOf(page, (*identity.Credential).Record)
		return err
	})
	return out, err
}
