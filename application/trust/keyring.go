package trust

import (
	"context"
	"crypto/ed25519"
	"maps"
	"time"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca"
	"berth/ports/signer"
	"berth/ports/store"
)

// keptPurposes are those whose keys are made and rotated here.
func (t *Trust) keptPurposes() []identity.KeyPurpose {
	purposes := []identity.KeyPurpose{identity.KeyForDeviceTokens}
	if t.Settings.Delivery != (identity.Windows{}) {
		purposes = append(purposes, identity.KeyForDesiredState, identity.KeyForPackages)
	}
	if t.CA != nil {
		purposes = append(purposes, identity.KeyForCA)
	}
	return purposes
}

func ringOf(ctx context.Context, r *store.Roles, purpose identity.KeyPurpose) (*identity.KeyRing, error) {
	keys, err := r.Keys.OfPurpose(ctx, purpose)
	if err != nil {
		return nil, err
	}
	records := make([]identity.SigningKeyRecord, 0, len(keys))
	for _, k := range keys {
		records = append(records, k.Record())
	}
	return identity.RestoreKeyRing(purpose, records), nil
}

// ring reads the keys of a purpose in a view of its own.
func (t *Trust) ring(ctx context.Context, purpose identity.KeyPurpose) (*identity.KeyRing, error) {
	var ring *identity.KeyRing
	err := t.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		ring, err = ringOf(ctx, r, purpose)
		return err
	})
	return ring, err
}

// newKey is a key that the signing service made and that no ring has yet.
type newKey struct {
	kid    string
	ref    signer.KeyRef
	public ed25519.PublicKey
	root   []byte // of a CA key
}

// makeKey makes a key and, where it is a CA's, the root that it signs for itself. A key without its root is destroyed.
func (t *Trust) makeKey(ctx context.Context, purpose identity.KeyPurpose) (*newKey, error) {
	ref, public, err := t.Signer.Create(ctx, signer.Purpose(purpose))
	if err != nil {
		return nil, err
	}
	made := &newKey{kid: t.IDs.New("key"), ref: ref, public: public}
	if purpose != identity.KeyForCA {
		return made, nil
	}
	made.root, err = t.CA.SelfSign(ctx, ca.Root{
		Ref: ref, Public: public, Name: rootName + made.kid, TrustDomain: t.Settings.TrustDomain, Serial: t.serial(),
		Validity: t.Settings.WindowsOf(purpose).Root(t.Clock.Now()),
	})
	if err != nil {
		_ = t.Signer.Destroy(ctx, ref) // one that is left behind signs for nobody
		return nil, err
	}
	return made, nil
}

const rootName = "Berth CA "

func (t *Trust) serial() [ca.SerialBytes]byte {
	return [ca.SerialBytes]byte(t.IDs.Secret(ca.SerialBytes))
}

// keeping is one attempt to bring a ring up to date, in one transaction.
type keeping struct {
	*work
	ring    *identity.KeyRing
	purpose identity.KeyPurpose
	windows identity.Windows
	made    *newKey // nil where none was made, or once it is in the ring
}

// keep brings a ring up to date and lets do decide more, in one transaction on the ring as it then stands: a
// compare-and-set, so that of several replicas one has its way and the others find nothing left to do. A key that was
// made for it and that the ring had no use for any more is destroyed.
func (t *Trust) keep(ctx context.Context, actor audit.Actor, purpose identity.KeyPurpose, made *newKey,
	do func(context.Context, *keeping) error,
) error {
	unused := made
	err := t.commit(ctx, actor, func(ctx context.Context, w *work) error {
		unused = made
		ring, err := ringOf(ctx, w.Roles, purpose)
		if err != nil {
			return err
		}
		k := &keeping{work: w, ring: ring, purpose: purpose, windows: t.Settings.WindowsOf(purpose), made: made}
		if err := do(ctx, k); err != nil {
			return err
		}
		unused = k.made
		return nil
	})
	// Of a commit of which nobody knows whether it happened, the key may be in the ring.
	if unused != nil && fault.SlugOf(err) != "commit_unknown" {
		_ = t.Signer.Destroy(ctx, unused.ref) // one that is left behind signs for nobody
	}
	return err
}

// settle does what the ring's plan says, and what it says after that, until nothing is due.
func (k *keeping) settle(ctx context.Context) error {
	const rounds = 16 // a plan comes to its end within a few
	for range rounds {
		progress := false
		for _, action := range k.ring.Plan(k.now, k.windows) {
			done, err := k.do(ctx, action)
			if err != nil {
				return err
			}
			progress = progress || done
		}
		if !progress {
			return nil
		}
	}
	return fault.New(fault.Internal, "key_plan_endless", "the plan of the signing keys does not come to an end")
}

func (k *keeping) do(ctx context.Context, action identity.Action) (done bool, err error) {
	if action.Kind == identity.ActionNewKey {
		if k.made == nil {
			return false, nil
		}
		return true, k.add(ctx, action.NotBefore)
	}
	changed, err := k.ring.Do(action, k.now)
	if err != nil {
		return false, err
	}
	return true, k.save(ctx, changed, nil)
}

// add puts the key that was made into the ring.
func (k *keeping) add(ctx context.Context, notBefore time.Time) error {
	key, err := identity.NewSigningKey(identity.NewKey{
		KID: k.made.kid, Purpose: k.purpose, PublicKey: k.made.public, Certificate: k.made.root, Ref: string(k.made.ref),
		NotBefore: notBefore,
	}, k.windows, k.now)
	if err != nil {
		return err
	}
	if err := k.ring.Add(key); err != nil {
		return err
	}
	if err := k.Keys.Create(ctx, key); err != nil {
		return err
	}
	k.made = nil
	return k.log(ctx, key.Record(), nil)
}

func (k *keeping) save(ctx context.Context, changed []*identity.SigningKey, detail map[string]string) error {
	for _, key := range changed {
		if err := k.Keys.Save(ctx, key); err != nil {
			return err
		}
		if err := k.log(ctx, key.Record(), detail); err != nil {
			return err
		}
	}
	return nil
}

var keyActions = map[identity.KeyState]string{ //nolint:gochecknoglobals // an immutable table
	identity.KeyPending:     "signing_key.created",
	identity.KeyActive:      "signing_key.activated",
	identity.KeyRetiring:    "signing_key.retiring",
	identity.KeyRetired:     "signing_key.retired",
	identity.KeyCompromised: "signing_key.compromised",
}

func (k *keeping) log(ctx context.Context, key identity.SigningKeyRecord, detail map[string]string) error {
	full := map[string]string{
		"purpose": string(key.Purpose), "ref": key.Ref, "not_before": key.NotBefore.Format(time.RFC3339),
		"sign_until": key.SignUntil.Format(time.RFC3339), "verify_until": key.VerifyUntil.Format(time.RFC3339),
	}
	maps.Copy(full, detail)
	return k.note(ctx, keyActions[key.State], "key/"+key.KID, full)
}

// successor returns the key that waits for its turn; nil where none does.
func successor(ring *identity.KeyRing) *identity.SigningKeyRecord {
	active := inState(ring, identity.KeyActive)
	for _, r := range ring.Records() {
		if r.State == identity.KeyPending && (active == nil || r.NotBefore.After(active.NotBefore)) {
			return &r
		}
	}
	return nil
}

func inState(ring *identity.KeyRing, state identity.KeyState) *identity.SigningKeyRecord {
	for _, r := range ring.Records() {
		if r.State == state {
			return &r
		}
	}
	return nil
}
