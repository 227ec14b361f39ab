package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"berth/domain/placement"
	"berth/ports/store"
)

// drainPace remembers which tenants this replica began to move, and when, so that one whose migration fails again and
// again does not take the place of the others. It is no state that anything depends on: after a restart the pace begins
// anew.
type drainPace struct {
	mu    sync.Mutex
	begun map[string]time.Duration // by tenant
}

// rested says whether a tenant may be tried.
func (d *drainPace) rested(tenant string, now, rest time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.begun[tenant]
	return !ok || now-at >= rest
}

func (d *drainPace) began(tenant string, now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun == nil {
		d.begun = map[string]time.Duration{}
	}
	d.begun[tenant] = now
}

func (d *drainPace) forget(now, rest time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for tenant, at := range d.begun {
		if now-at >= rest {
			delete(d.begun, tenant)
		}
	}
}

// SweepDrains moves the tenants of every node that is being emptied, with at most Settings.DrainParallelism migrations
// away from it at a time (P12). All that it goes by is in the store, so that it resumes by itself; tenants that no node
// takes stay. What failed is passed over and returned.
func (f *Fleet) SweepDrains(ctx context.Context) error {
	f.drains.forget(f.Clock.Elapsed(), f.Settings.DrainRetry)
	var errs []error
	err := store.EachPage(
		func(p store.Page) ([]placement.Candidate, error) { return f.candidates(ctx, p) }, candidateKey,
		func(page []placement.Candidate) error {
			for _, c := range page {
				if c.Node.Record().Status == placement.NodeDraining {
					errs = append(errs, f.sweepDrainOf(ctx, candidateKey(c)))
				}
			}
			return ctx.Err()
		})
	return errors.Join(append(errs, err)...)
}

// errEnough ends a drain's run: nothing more can begin now.
var errEnough = errors.New("enough for now")

func (f *Fleet) sweepDrainOf(ctx context.Context, node string) error {
	var errs []error
	err := store.EachPage(
		func(p store.Page) ([]*placement.Placement, error) { return f.heldBy(ctx, node, p) }, placementKey,
		func(page []*placement.Placement) error {
			for _, p := range page {
				tenant := placementKey(p)
				if !f.drains.rested(tenant, f.Clock.Elapsed(), f.Settings.DrainRetry) {
					continue
				}
				enough, err := f.drainOne(ctx, node, tenant)
				if err != nil {
					errs = append(errs, fmt.Errorf("draining tenant %s off node %s: %w", tenant, node, err))
				}
				if enough || ctx.Err() != nil {
					return errEnough
				}
			}
			return nil
		})
	if !errors.Is(err, errEnough) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (f *Fleet) heldBy(ctx context.Context, node string, p store.Page) (page []*placement.Placement, err error) {
	err = f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		page, err = r.Placements.HeldBy(ctx, node, p)
		return err
	})
	return page, err
}

// drainOne begins to move one tenant, and says whether that is all that can begin now: the drain was stopped, enough
// migrations run, or no node takes more. What another replica began is passed over.
func (f *Fleet) drainOne(ctx context.Context, from, tenant string) (enough bool, err error) {
	id := f.IDs.New("mig")
	began := false
	err = f.commit(ctx, itself("drain"), store.Ticket{}, func(ctx context.Context, w *work) error {
		enough, began = false, false
		p, err := w.Placements.Get(ctx, tenant)
		if err != nil {
			return err
		}
		if r := p.Record(); r.Node != from || r.Migration != "" {
			return nil
		}
		to, err := f.drainTarget(ctx, w, from, p.Record().HomeRegion)
		if err != nil || to == "" {
			enough = err == nil
			return err
		}
		began = true
		_, err = f.begin(ctx, w, p, placement.Plan{ID: id}, to)
		return err
	})
	if err == nil && began {
		f.drains.began(tenant, f.Clock.Elapsed())
	}
	return enough, err
}

// drainTarget is the node that takes the next tenant off a draining one; empty when nothing more is to begin.
func (f *Fleet) drainTarget(ctx context.Context, w *work, from, region string) (string, error) {
	node, err := w.Nodes.Get(ctx, from)
	if err != nil || node.Record().Status != placement.NodeDraining {
		return "", err
	}
	running, err := w.Migrations.RunningFrom(ctx, from)
	if err != nil || running >= f.Settings.DrainParallelism {
		return "", err
	}
	best, err := w.choose(ctx, region, from)
	if best == nil || err != nil {
		return "", err
	}
	return candidateKey(*best), nil
}
