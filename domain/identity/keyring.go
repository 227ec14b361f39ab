package identity

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"berth/domain/fault"
)

// KeyRing holds all signing keys of one purpose, past ones included. At most one is active.
type KeyRing struct {
	purpose KeyPurpose
	keys    []*SigningKey
}

// RestoreKeyRing makes the ring of a purpose of what was stored, in any order; keys of other purposes are left out, so
// that they verify nothing here (I9). Whatever an event changes it returns, as copies to be stored in the same
// transaction.
func RestoreKeyRing(purpose KeyPurpose, records []SigningKeyRecord) *KeyRing {
	ring := &KeyRing{purpose: purpose}
	for _, r := range records {
		if r.Purpose == purpose {
			ring.keys = append(ring.keys, RestoreSigningKey(r))
		}
	}
	slices.SortFunc(ring.keys, func(a, b *SigningKey) int {
		return cmp.Or(a.record.NotBefore.Compare(b.record.NotBefore), cmp.Compare(a.record.KID, b.record.KID))
	})
	return ring
}

// Records returns all keys: those restored ordered by not-before, then those added.
func (r *KeyRing) Records() []SigningKeyRecord { return records(r.keys) }

func records(keys []*SigningKey) []SigningKeyRecord {
	out := make([]SigningKeyRecord, 0, len(keys))
	for _, k := range keys {
		out = append(out, k.Record())
	}
	return out
}

func copies(keys ...*SigningKey) []*SigningKey {
	out := make([]*SigningKey, 0, len(keys))
	for _, k := range keys {
		out = append(out, RestoreSigningKey(k.record))
	}
	return out
}

func (r *KeyRing) find(kid string) *SigningKey {
	i := slices.IndexFunc(r.keys, func(k *SigningKey) bool { return k.record.KID == kid })
	if i < 0 {
		return nil
	}
	return r.keys[i]
}

func (r *KeyRing) active() *SigningKey {
	i := slices.IndexFunc(r.keys, func(k *SigningKey) bool { return k.record.State == KeyActive })
	if i < 0 {
		return nil
	}
	return r.keys[i]
}

// Signing returns the key to sign with: the active one within its signing window. Unavailable signing_key_missing where
// there is none.
func (r *KeyRing) Signing(now time.Time) (SigningKeyRecord, error) {
	if k := r.active(); k != nil && k.inSigningWindow(now) {
		return k.Record(), nil
	}
	return SigningKeyRecord{}, fault.New(fault.Unavailable, "signing_key_missing", "no key may sign at this time")
}

// Verifies judges whether what a key signed is accepted at an instant. All refusals are Unauthenticated: key_unknown
// (also a key of another purpose), key_compromised, key_retired, key_not_yet_valid.
//
// The window decides, whatever the state says: a key past its verify-until is retired even where the ring is an old copy
// (I6), and one that was published ahead counts from its not-before even where the copy still calls it pending.
func (r *KeyRing) Verifies(kid string, now time.Time) error {
	k := r.find(kid)
	if k == nil {
		return unauthenticated("key_unknown", "no such signing key")
	}
	return k.verifies(now)
}

func (k *SigningKey) verifies(now time.Time) error {
	switch k.record.State {
	case KeyCompromised:
		return unauthenticated("key_compromised", "the signing key is compromised")
	case KeyRetired:
		return unauthenticated("key_retired", "the signing key is retired")
	case KeyPending, KeyActive, KeyRetiring:
		return k.inVerifyWindow(now)
	}
	return unauthenticated("key_unknown", "no such signing key")
}

func (k *SigningKey) inVerifyWindow(now time.Time) error {
	switch {
	case now.Before(k.record.NotBefore):
		return unauthenticated("key_not_yet_valid", "the signing key is not valid yet")
	case !now.Before(k.record.VerifyUntil):
		return unauthenticated("key_retired", "the signing key is retired")
	}
	return nil
}

// Published returns the keys that verifiers are to know at an instant: pending ones ahead of their time, the active and
// the retiring ones; never one that is retired, compromised or past its verify-until. Ordered by not-before.
func (r *KeyRing) Published(now time.Time) []SigningKeyRecord {
	kept := slices.DeleteFunc(slices.Clone(r.keys), func(k *SigningKey) bool {
		err := k.verifies(now)
		return err != nil && fault.SlugOf(err) != "key_not_yet_valid"
	})
	slices.SortStableFunc(kept, func(a, b *SigningKey) int { return a.record.NotBefore.Compare(b.record.NotBefore) })
	return records(kept)
}

// Add takes a pending key. Conflict key_purpose_mismatch or key_transition_refused (not pending); AlreadyExists
// key_exists where its kid or its public key is already in the ring.
func (r *KeyRing) Add(key *SigningKey) error {
	added := RestoreSigningKey(key.record)
	switch {
	case added.record.Purpose != r.purpose:
		return fault.New(fault.Conflict, "key_purpose_mismatch", "the key has another purpose")
	case added.record.State != KeyPending:
		return keyRefused("only a pending key can be added")
	case slices.ContainsFunc(r.keys, added.clashes):
		return fault.New(fault.AlreadyExists, "key_exists", "the key is known already")
	}
	r.keys = append(r.keys, added)
	return nil
}

func (k *SigningKey) clashes(o *SigningKey) bool {
	return k.record.KID == o.record.KID || bytes.Equal(k.record.PublicKey, o.record.PublicKey)
}

// Activate lets a pending key sign; the one that signed so far retires in the same step. The keys that changed are
// returned, as by every event. Refused as Conflict key_transition_refused outside its signing window, and where the
// active key is the later one; as by every event, too, where the state does not allow it. NotFound key_not_found.
func (r *KeyRing) Activate(kid string, now time.Time) (changed []*SigningKey, err error) {
	k, err := r.known(kid)
	if err != nil {
		return nil, err
	}
	before := r.active()
	switch {
	case !k.inSigningWindow(now):
		return nil, keyRefused("the key may not sign at this time")
	case before != nil && !k.later(before):
		return nil, keyRefused("a later key is active")
	}
	if err := k.step(keyActivate, now); err != nil {
		return nil, err
	}
	if before == nil {
		return copies(k), nil
	}
	if err := before.step(keyRetire, now); err != nil {
		return nil, err
	}
	return copies(k, before), nil
}

// Retire stops a key from signing; what it signed stays good until its verify-until.
func (r *KeyRing) Retire(kid string, now time.Time) (changed []*SigningKey, err error) {
	return r.change(kid, keyRetire, now)
}

// End retires a key for good: a retiring one after its verify-until, a pending one that will never sign. Refused as
// Conflict key_transition_refused before; a key that must end at once is compromised.
func (r *KeyRing) End(kid string, now time.Time) (changed []*SigningKey, err error) {
	if k := r.find(kid); k != nil && !r.endable(k, now) {
		return nil, keyRefused("the key is still needed")
	}
	return r.change(kid, keyEnd, now)
}

// Compromise ends a key at once, from any state; again, it changes nothing.
func (r *KeyRing) Compromise(kid string, now time.Time) (changed []*SigningKey, err error) {
	if k := r.find(kid); k != nil && k.record.State == KeyCompromised {
		return nil, nil
	}
	return r.change(kid, keyCompromise, now)
}

func (r *KeyRing) change(kid string, event keyEvent, now time.Time) ([]*SigningKey, error) {
	k, err := r.known(kid)
	if err != nil {
		return nil, err
	}
	if err := k.step(event, now); err != nil {
		return nil, err
	}
	return copies(k), nil
}

func (r *KeyRing) known(kid string) (*SigningKey, error) {
	if k := r.find(kid); k != nil {
		return k, nil
	}
	return nil, fault.New(fault.NotFound, "key_not_found", "no such signing key")
}
