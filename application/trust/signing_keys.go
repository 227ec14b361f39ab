package trust

import (
	"context"

	"berth/domain/identity"
	"berth/ports/store"
)

// SigningKeys lists the keys of every purpose, past ones included, in the order of identity.KeyPurposes and of their
// not-before.
func (t *Trust) SigningKeys(ctx context.Context) ([]identity.SigningKeyRecord, error) {
	var out []identity.SigningKeyRecord
	err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		out = nil
		for _, purpose := range identity.KeyPurposes() {
			ring, err := ringOf(ctx, r, purpose)
			if err != nil {
				return err
			}
			out = append(out, ring.Records()...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
