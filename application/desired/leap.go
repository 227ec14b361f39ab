package desired

import (
	"context"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
	"berth/ports/tokens"
)

// LeapRequest asks to go beyond whatever an agent may hold.
type LeapRequest struct {
	Actor   audit.Actor
	Install string
	Note    string // why
}

// Leap makes a revision far beyond every one that was proved, so that agents follow again after the database was restored
// from an older copy (D4). Nothing is removed by it. Faults: NotFound deployment_not_found; Invalid note_required,
// text_out_of_bounds; Conflict desired_state_exhausted; Unavailable desired_state_contended, signing_key_missing,
// signer_unavailable.
func (d *Desired) Leap(ctx context.Context, in LeapRequest) (Published, error) {
	if err := delivery.CheckNote(in.Note); err != nil {
		return Published{}, err
	}
	return again(d, func() (Published, error) { return d.leap(ctx, in) })
}

func (d *Desired) leap(ctx context.Context, in LeapRequest) (Published, error) {
	now := d.Clock.Now()
	var head *delivery.Desired
	var key tokens.SigningKey
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		if head, err = r.DesiredStates.Get(ctx, in.Install); err != nil {
			return err
		}
		key, err = signing(ctx, r, identity.KeyForDesiredState, now)
		return err
	})
	if err != nil {
		return Published{}, noDeployment(err)
	}
	next, diff, err := head.Leap(now)
	if err != nil {
		return Published{}, err
	}
	a, err := d.sign(ctx, key, head.Record(), next)
	if err != nil {
		return Published{}, err
	}
	err = d.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		return w.leap(ctx, in, a, diff)
	})
	if err != nil {
		return Published{}, err
	}
	return Published{true, a.next.Record(), diff}, nil
}

func (w *work) leap(ctx context.Context, in LeapRequest, a signed, diff []delivery.Difference) error {
	s, err := read(ctx, w.Roles, in.Install, w.now, false)
	if err != nil {
		return err
	}
	if !s.Head.Is(a.before) {
		return errMoved
	}
	step := Step{Situation: s, Changed: true, Next: a.next, Diff: diff, Reason: "leap: " + in.Note}
	p := Proposal{Install: in.Install, Actor: in.Actor}
	if err := w.keep(ctx, p, step, a.list); err != nil {
		return err
	}
	if err := w.supersede(ctx, step); err != nil {
		return err
	}
	s.Deployment.Reviewed(w.now) // what may run was not looked at while it was frozen
	if err := w.Deployments.Save(ctx, s.Deployment); err != nil {
		return err
	}
	return w.note(ctx, "desired_state.leapt", in.Install, map[string]string{
		"before": number(a.before.Revision), "after": number(a.next.Record().Revision), "proven": number(a.before.Proven),
		"claimed": number(a.before.Claimed), "note": in.Note,
	})
}

// noDeployment names what is missing by what was asked for: a head is there with its deployment.
func noDeployment(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return store.Missing("deployment").Because(err)
	}
	return err
}
