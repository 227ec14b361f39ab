package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/placement"
	port "berth/ports/store"
)

type regionRow struct {
	bun.BaseModel `bun:"table:relay_regions,alias:r"`

	ID        string  `bun:"id,pk"`
	Origin    string  `bun:"origin"`
	CreatedAt instant `bun:"created_at"`
}

func regionTable() table[placement.Region, regionRow] {
	return table[placement.Region, regionRow]{
		thing: "region", key: "id",
		row: always(func(v placement.Region) regionRow {
			return regionRow{ID: v.ID, Origin: v.Origin, CreatedAt: instant(v.CreatedAt)}
		}),
		value: always(func(r regionRow) placement.Region {
			return placement.Region{ID: r.ID, Origin: r.Origin, CreatedAt: time.Time(r.CreatedAt)}
		}),
	}
}

type regions struct {
	aggregate[placement.Region, regionRow]
}

func (r regions) List(ctx context.Context, p port.Page) ([]placement.Region, error) {
	return r.page(ctx, p, whole)
}
