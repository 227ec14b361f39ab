package trust

import (
	"cmp"
	"context"
	"slices"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
)

// RotateSigningKeyRequest asks for a new key of a purpose.
type RotateSigningKeyRequest struct {
	Actor   audit.Actor
	Purpose identity.KeyPurpose // KeyForDeviceTokens when empty
}

// RotateSigningKey makes the next key ahead of its time: it is published at once, takes over after
// Windows.PublishAhead of its purpose, and the key that signs so far then retires (I6). Where a next key waits already, that one is
// returned and nothing changes; where nothing can sign, the new key does so at once.
// Faults: Invalid key_purpose_unknown; Unavailable signer_unavailable, ca_unavailable.
func (t *Trust) RotateSigningKey(ctx context.Context, in RotateSigningKeyRequest) (identity.SigningKeyRecord, error) {
	purpose := cmp.Or(in.Purpose, identity.KeyForDeviceTokens)
	if !slices.Contains(t.keptPurposes(), purpose) {
		return identity.SigningKeyRecord{}, fault.New(fault.Invalid, "key_purpose_unknown", "no key of this purpose is kept here").At("purpose")
	}
	ring, err := t.ring(ctx, purpose)
	if err != nil {
		return identity.SigningKeyRecord{}, err
	}
	var made *newKey
	if successor(ring) == nil {
		if made, err = t.makeKey(ctx, purpose); err != nil {
			return identity.SigningKeyRecord{}, err
		}
	}
	var out identity.SigningKeyRecord
	err = t.keep(ctx, in.Actor, purpose, made, func(ctx context.Context, k *keeping) (err error) {
		out, err = k.rotate(ctx)
		return err
	})
	if err != nil {
		return identity.SigningKeyRecord{}, err
	}
	return out, nil
}

// rotate puts the key that was made in line, unless one waits there already or it had to sign at once.
func (k *keeping) rotate(ctx context.Context) (identity.SigningKeyRecord, error) {
	if err := k.settle(ctx); err != nil {
		return identity.SigningKeyRecord{}, err
	}
	if k.made != nil && successor(k.ring) == nil {
		if err := k.add(ctx, k.windows.NotBefore(k.now)); err != nil {
			return identity.SigningKeyRecord{}, err
		}
	}
	if next := successor(k.ring); next != nil {
		return *next, nil
	}
	return k.ring.Signing(k.now)
}
