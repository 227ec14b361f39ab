package trust

import (
	"context"

	"berth/domain/identity"
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
