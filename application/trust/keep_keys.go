package trust

import (
	"context"
	"errors"
	"slices"

	"berth/domain/audit"
	"berth/domain/identity"
)

// KeepKeys makes, activates and ends keys as their windows say (I6); at the very start it makes the first, active at
// once. Keys are those of device tokens, of desired states and packages, and, where the control plane has a CA of its
// own, the CA's. It runs at least twice in Windows.PublishAhead. Any number of replicas may run it at once: one active
// key of each purpose comes of it. Where the signing service is away, what needs no new key is done all the same.
func (t *Trust) KeepKeys(ctx context.Context) error {
	var failed error
	for _, purpose := range t.keptPurposes() { // one that fails holds up no other
		failed = errors.Join(failed, t.keepKeys(ctx, itself("keep-keys"), purpose))
	}
	return failed
}

func (t *Trust) keepKeys(ctx context.Context, actor audit.Actor, purpose identity.KeyPurpose) error {
	ring, err := t.ring(ctx, purpose)
	if err != nil {
		return err
	}
	plan := ring.Plan(t.Clock.Now(), t.Settings.WindowsOf(purpose))
	if len(plan) == 0 {
		return nil
	}
	var made *newKey
	var failed error
	if slices.ContainsFunc(plan, func(a identity.Action) bool { return a.Kind == identity.ActionNewKey }) {
		made, failed = t.makeKey(ctx, purpose)
	}
	err = t.keep(ctx, actor, purpose, made, func(ctx context.Context, k *keeping) error { return k.settle(ctx) })
	if err != nil {
		return err
	}
	return failed
}
