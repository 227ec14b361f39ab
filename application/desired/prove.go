package desired

import (
	"context"
	"time"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
	"berth/ports/tokens"
)

// ProveRequest is a desired state that an agent holds, as it was signed here.
type ProveRequest struct {
	Caller       AgentCaller
	DesiredState string // compact JWS
}

// Prove takes the proof that a revision was told: by what was signed here, and by nothing that an agent merely says, a
// leap knows how far it has to go (D4). One that is of this history changes nothing. Faults: Unauthenticated, as of
// tokens.DocumentVerifier; Invalid desired_state_malformed; Forbidden proof_of_another.
func (d *Desired) Prove(ctx context.Context, in ProveRequest) error {
	now := d.Clock.Now()
	var keys tokens.KeySet
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		keys, err = everSigned(ctx, r, now)
		return err
	})
	if err != nil {
		return err
	}
	payload, _, err := d.Crypto.Verifier.VerifyDocument(in.DesiredState, tokens.DesiredStateType, keys, now)
	if err != nil {
		return err
	}
	proof, err := delivery.ParsePayload(payload)
	if err != nil {
		return err
	}
	if proof.InstallID != in.Caller.Install {
		return fault.New(fault.Forbidden, "proof_of_another", "this was signed for another deployment")
	}
	held := delivery.Held{Revision: proof.Revision, Digest: delivery.Digest(payload)}
	return d.commit(ctx, in.Caller.actor(), func(ctx context.Context, w *work) error {
		return w.prove(ctx, in.Caller.Install, held)
	})
}

func (w *work) prove(ctx context.Context, install string, held delivery.Held) error {
	head, err := w.DesiredStates.Get(ctx, install)
	if err != nil {
		return err
	}
	before := head.Record()
	recorded, err := recordedDigest(ctx, w.Roles, before, held)
	if err != nil {
		return err
	}
	next, changed := head.Proved(held, recorded)
	if !changed {
		return nil
	}
	if err := w.DesiredStates.Save(ctx, next); err != nil {
		return err
	}
	w.hint(install)
	return w.note(ctx, "desired_state.proved", install, map[string]string{
		"revision": number(before.Revision), "proved": number(held.Revision), "digest": held.Digest,
	})
}

// everSigned are the keys that may have signed a desired state at any time: a proof is of the past, so a key that was
// retired counts; one that others may have is no proof.
func everSigned(ctx context.Context, r *store.Roles, now time.Time) (tokens.KeySet, error) {
	ring, err := ringOf(ctx, r, identity.KeyForDesiredState)
	if err != nil {
		return nil, err
	}
	keys := tokens.KeySet{}
	for _, k := range ring.Records() {
		if k.State != identity.KeyCompromised && k.State != identity.KeyPending {
			keys[k.KID] = tokens.VerificationKey{PublicKey: k.PublicKey, VerifyUntil: now.Add(time.Hour)}
		}
	}
	return keys, nil
}
