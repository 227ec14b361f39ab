package fleet

import (
	"context"
	"errors"
	"fmt"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// SweepQueue places tenants that wait, oldest first in each region, as long as nodes take them and at most
// Settings.QueueBatch of a region (P12). What fails is passed over and returned.
func (f *Fleet) SweepQueue(ctx context.Context) error {
	regions, err := f.allRegions(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, region := range regions {
		errs = append(errs, f.sweepQueueOf(ctx, region))
	}
	return errors.Join(errs...)
}

func (f *Fleet) allRegions(ctx context.Context) ([]string, error) {
	var ids []string
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		ids = nil
		return store.EachPage(func(p store.Page) ([]placement.Region, error) { return r.Regions.List(ctx, p) }, regionKey,
			func(rs []placement.Region) error {
				for _, region := range rs {
					ids = append(ids, region.ID)
				}
				return nil
			})
	})
	return ids, err
}

func (f *Fleet) sweepQueueOf(ctx context.Context, region string) error {
	var queue []placement.Waiting
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		queue, err = r.Queue.Oldest(ctx, region, f.Settings.QueueBatch)
		return err
	})
	if err != nil {
		return fmt.Errorf("the placement queue of region %s: %w", region, err)
	}
	var errs []error
	for _, waiting := range queue {
		full, err := f.placeWaiting(ctx, waiting.Tenant, region)
		if err != nil {
			errs = append(errs, fmt.Errorf("placing tenant %s: %w", waiting.Tenant, err))
		}
		if full || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// placeWaiting places a tenant that waits, and says whether the region was full. One that waits no more was placed by
// somebody else.
func (f *Fleet) placeWaiting(ctx context.Context, tenant, region string) (full bool, err error) {
	err = f.commit(ctx, itself("queue"), store.Ticket{}, func(ctx context.Context, w *work) error {
		full = false
		if _, err := w.Queue.Get(ctx, tenant); err != nil {
			return err
		}
		p, err := w.place(ctx, tenant, region)
		if err != nil {
			return err
		}
		if p == nil {
			full = true
			return nil
		}
		return w.Queue.Remove(ctx, tenant)
	})
	if fault.SlugOf(err) == "waiting_not_found" {
		return false, nil
	}
	return full, err
}
