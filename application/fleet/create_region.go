package fleet

import (
	"context"

	"berth/domain/audit"
	"berth/domain/placement"
	"berth/ports/store"
)

// CreateRegionRequest names a region and the stable public origin that covers it.
type CreateRegionRequest struct {
	Actor  audit.Actor
	ID     string
	Origin string // https://host[:port]
}

// CreateRegion adds a region. Faults: Invalid invalid_id, invalid_origin; AlreadyExists region_exists.
func (f *Fleet) CreateRegion(ctx context.Context, in CreateRegionRequest) (placement.Region, error) {
	var region placement.Region
	err := f.commit(ctx, in.Actor, store.Ticket{}, func(ctx context.Context, w *work) (err error) {
		if region, err = placement.NewRegion(in.ID, in.Origin, w.now); err != nil {
			return err
		}
		if err := w.Regions.Create(ctx, region); err != nil {
			return err
		}
		return w.note(ctx, "region.created", "region/"+region.ID, map[string]string{"origin": region.Origin})
	})
	return region, err
}
