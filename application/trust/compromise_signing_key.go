package trust

import (
	"context"
	"slices"

	"berth/domain/audit"
	"berth/domain/identity"
	"berth/ports/store"
)

// CompromiseSigningKeyRequest names a key that is not to be believed any more, and why.
type CompromiseSigningKeyRequest struct {
	Actor  audit.Actor
	KID    string
	Reason string // may be empty
}

// CompromisedKey is a key that ended, and the one that signs now.
type CompromisedKey struct {
	Key    identity.SigningKeyRecord
	Active *identity.SigningKeyRecord // nil where the signing service could make none; KeepKeys goes on trying
}

// CompromiseSigningKey ends a key at once and for good: it is not published any more, and nothing that it signed is
// accepted by whoever asked for the keys since (I6). A new key signs at once, where keys of the purpose are still made. Ending it does not wait for the signing
// service, and repeating it changes nothing. Fault: NotFound key_not_found.
func (t *Trust) CompromiseSigningKey(ctx context.Context, in CompromiseSigningKeyRequest) (CompromisedKey, error) {
	purpose, err := t.purposeOf(ctx, in.KID)
	if err != nil {
		return CompromisedKey{}, err
	}
	err = t.keep(ctx, in.Actor, purpose, nil, func(ctx context.Context, k *keeping) error {
		changed, err := k.ring.Compromise(in.KID, k.now)
		if err != nil || len(changed) == 0 {
			return err
		}
		if err := k.save(ctx, changed, map[string]string{"reason": in.Reason}); err != nil {
			return err
		}
		return k.settle(ctx)
	})
	if err != nil {
		return CompromisedKey{}, err
	}
	// The key has ended whatever becomes of its successor, which Active tells; the sweep tries again.
	if slices.Contains(t.keptPurposes(), purpose) {
		_ = t.keepKeys(ctx, in.Actor, purpose)
	}
	return t.compromised(ctx, purpose, in.KID)
}

func (t *Trust) purposeOf(ctx context.Context, kid string) (identity.KeyPurpose, error) {
	var purpose identity.KeyPurpose
	err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		key, err := r.Keys.Get(ctx, kid)
		if err == nil {
			purpose = key.Record().Purpose
		}
		return err
	})
	return purpose, err
}

func (t *Trust) compromised(ctx context.Context, purpose identity.KeyPurpose, kid string) (CompromisedKey, error) {
	ring, err := t.ring(ctx, purpose)
	if err != nil {
		return CompromisedKey{}, err
	}
	out := CompromisedKey{Active: inState(ring, identity.KeyActive)}
	for _, r := range ring.Records() {
		if r.KID == kid {
			out.Key = r
		}
	}
	return out, nil
}
