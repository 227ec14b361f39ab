package desired

import (
	"context"
	"errors"
	"fmt"
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

// putOff takes a deployment off the list of those to be looked at, unless it leapt meanwhile and is on it since.
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

// SweepReviews reviews deployments that are due, up to Settings.ReviewBatch, and says how many it looked at. One that
// fails for a reason of its own takes nobody's turn: it stays due, and others are looked at beside it.
func (d *Desired) SweepReviews(ctx context.Context) (int, error) {
	s := sweeping{Desired: d, now: d.Clock.Now(), left: d.Settings.ReviewBatch, failed: map[string]bool{}}
	for s.left > 0 && len(s.failed) <= sweptFailures && ctx.Err() == nil {
		due, err := s.due(ctx)
		if err != nil || len(due) == 0 {
			return s.looked, errors.Join(s.errs, err)
		}
		s.review(ctx, due)
	}
	return s.looked, s.errs
}

// The bounds of what one sweep makes of failures; there are far fewer at a time.
const (
	sweptFailures = 1000
	toldFailures  = 20
)

// sweeping is one sweep.
type sweeping struct {
	*Desired
	now    time.Time
	left   int             // how many may be looked at, those that failed for reasons of their own not counted
	failed map[string]bool // by install id
	looked int
	errs   error
}

// due are those that are due and did not fail in this sweep.
func (s *sweeping) due(ctx context.Context) ([]string, error) {
	var due []string
	err := s.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		list, err := r.Deployments.Due(ctx, s.now, s.left+len(s.failed))
		for _, v := range list {
			if install := v.Record().InstallID; !s.failed[install] {
				due = append(due, install)
			}
		}
		return err
	})
	return due, err
}

// review looks at deployments. What is not to be had for now counts: all others would fail for the same reason.
func (s *sweeping) review(ctx context.Context, due []string) {
	for _, install := range due {
		if ctx.Err() != nil {
			return
		}
		s.looked++
		err := s.Review(ctx, install)
		if err != nil {
			s.failed[install] = true
			s.tell(install, err)
		}
		if err == nil || fault.KindOf(err) == fault.Unavailable {
			s.left--
		}
	}
}

func (s *sweeping) tell(install string, err error) {
	if len(s.failed) <= toldFailures {
		s.errs = errors.Join(s.errs, fmt.Errorf("%s: %w", install, err))
	}
}
