package desired

import (
	"context"
	"errors"
	"time"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// Review looks which apps of a deployment may run by now, and publishes where that changed: what is over is suspended,
// and what was renewed comes back as it was (E6). It does nothing where nothing changed, and again changes nothing.
// Faults: NotFound deployment_not_found; those of Publish, but for a frozen head, which is looked at after its leap.
func (d *Desired) Review(ctx context.Context, install string) error {
	_, err := d.Publish(ctx, Proposal{
		Install: install, Actor: itself("review"),
		Decide: func(Situation) (delivery.Edit, error) { return delivery.Edit{}, nil },
	})
	if fault.SlugOf(err) == "desired_state_frozen" {
		return d.putOff(ctx, install)
	}
	return err
}

// putOff takes a deployment off the list of those to be looked at, unless it was leapt meanwhile: it is due then.
func (d *Desired) putOff(ctx context.Context, install string) error {
	return d.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		head, err := r.DesiredStates.Get(ctx, install)
		if err != nil || head.Usable() == nil {
			return err
		}
		return store.UpdateIn[*delivery.Deployment](ctx, r.Deployments, install, func(v *delivery.Deployment) error {
			v.Reviewed(time.Time{})
			return nil
		})
	})
}

// SweepReviews reviews the deployments that are due, up to Settings.ReviewBatch, and says how many it looked at. One that
// fails holds up no other.
func (d *Desired) SweepReviews(ctx context.Context) (int, error) {
	now := d.Clock.Now()
	var due []*delivery.Deployment
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		due, err = r.Deployments.Due(ctx, now, d.Settings.ReviewBatch)
		return err
	})
	if err != nil {
		return 0, err
	}
	var failed error
	for _, v := range due {
		if err := d.Review(ctx, v.Record().InstallID); err != nil {
			failed = errors.Join(failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return len(due), failed
}
