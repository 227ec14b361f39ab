package trust

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
)

// JWKS returns the keys that verify device tokens, those published ahead included, and no others (I6, I9), by
// not-before.
func (t *Trust) JWKS(ctx context.Context) ([]identity.SigningKeyRecord, error) {
	ring, err := t.ring(ctx, identity.KeyForDeviceTokens)
	if err != nil {
		return nil, err
	}
	return ring.Published(t.Clock.Now()), nil
}

// NodeKeys is JWKS for relay nodes, with the keys' windows: a verifier goes by them and not by a key's absence (I6). Any
// node may ask.
func (t *Trust) NodeKeys(ctx context.Context) ([]identity.SigningKeyRecord, error) {
	if err := authorization.Decide(authorization.OpSigningKeys, placement.RoleStranger, placement.PhaseNone); err != nil {
		return nil, err
	}
	return t.JWKS(ctx)
}
