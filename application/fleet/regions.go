package fleet

import (
	"context"

	"berth/domain/placement"
	"berth/ports/store"
)

// Regions lists the regions, by id.
func (f *Fleet) Regions(ctx context.Context, p store.Page) (List[placement.Region], error) {
	var out List[placement.Region]
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = listed(p, func(p store.Page) ([]placement.Region, error) { return r.Regions.List(ctx, p) }, regionKey)
		return err
	})
	return out, err
}

func regionKey(r placement.Region) string { return r.ID }
