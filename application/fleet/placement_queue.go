package fleet

import (
	"context"

	"berth/domain/placement"
	"berth/ports/store"
)

// PlacementQueueRequest asks who waits for a place.
type PlacementQueueRequest struct {
	Region string // empty for all
	Limit  int    // 1 to 500; 100 when not given
}

// PlacementQueue lists the tenants that wait, oldest first (P12).
func (f *Fleet) PlacementQueue(ctx context.Context, in PlacementQueueRequest) ([]placement.Waiting, error) {
	limit := min(in.Limit, store.LongestList)
	if limit < 1 {
		limit = store.DefaultList
	}
	var out []placement.Waiting
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = r.Queue.Oldest(ctx, in.Region, limit)
		return err
	})
	return out, err
}
