package fleet

import (
	"context"

	"berth/domain/placement"
	"berth/ports/store"
)

// Regions lists the regions, by id.
func (f *Fleet) Regions(ctx context.Context, p store.Page) (store.List[placement.Region], error) {
	var out store.List[placement.Region]
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = store.Listed(p, func(p store.Page) ([]placement.Region, error) { return r.Regions.List(ctx, p) }, regionKey)
		return err
	})
	return out, err
}

func regionKey(r placement.Region) string { return r.ID }
