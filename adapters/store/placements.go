package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/placement"
	port "berth/ports/store"
)

type placementRow struct {
	bun.BaseModel `bun:"table:tenant_placements,alias:p"`

	Tenant       string                  `bun:"tenant,pk"`
	HomeRegion   string                  `bun:"home_region"`
	Node         string                  `bun:"relay_node"`
	Generation   int64                   `bun:"generation"`
	Version      int64                   `bun:"version"`
	State        status[placement.State] `bun:"state"`
	Migration    string                  `bun:"migration"`
	Source       string                  `bun:"source"`
	Target       string                  `bun:"target"`
	ManifestRoot string                  `bun:"manifest_root"`
	LastSequence int64                   `bun:"last_sequence"`
	ChangedAt    instant                 `bun:"changed_at"`
}

func placementTable() table[*placement.Placement, placementRow] {
	return table[*placement.Placement, placementRow]{
		thing: "placement", key: "tenant",
		row: always(func(v *placement.Placement) placementRow {
			r := v.Record()
			return placementRow{
				Tenant: r.Tenant, HomeRegion: r.HomeRegion, Node: r.Node, Generation: r.Generation, Version: r.Version,
				State: status[placement.State]{r.State}, Migration: r.Migration, Source: r.Source, Target: r.Target,
				ManifestRoot: r.ManifestRoot, LastSequence: r.LastSequence, ChangedAt: instant(r.ChangedAt),
			}
		}),
		value: always(placementRow.value),
	}
}

func (r placementRow) value() *placement.Placement {
	return placement.Restore(placement.Record{
		Tenant: r.Tenant, HomeRegion: r.HomeRegion, Node: r.Node, Generation: r.Generation, Version: r.Version,
		State: r.State.v, Migration: r.Migration, Source: r.Source, Target: r.Target, ManifestRoot: r.ManifestRoot,
		LastSequence: r.LastSequence, ChangedAt: time.Time(r.ChangedAt),
	})
}

type placements struct {
	aggregate[*placement.Placement, placementRow]
}

func (p placements) Create(ctx context.Context, v *placement.Placement) error {
	if err := p.aggregate.Create(ctx, v); err != nil {
		return err
	}
	return p.t.stir(ctx, v.Record().Tenant)
}

func (p placements) Save(ctx context.Context, v *placement.Placement) error {
	r := v.Record()
	if err := p.t.stir(ctx, r.Tenant, r.Node, r.Source, r.Target); err != nil {
		return err
	}
	return p.aggregate.Save(ctx, v)
}

// Concerning takes a page from each of three indexes and the first of their union: a single condition over the three
// columns would read all that concerns the node to find one page.
func (p placements) Concerning(ctx context.Context, node string, at port.Page) ([]*placement.Placement, error) {
	return p.page(ctx, at, func(q *bun.SelectQuery) *bun.SelectQuery {
		from := func(where string) *bun.SelectQuery {
			return p.t.session.DB.NewSelect().TableExpr("(SELECT tenant FROM tenant_placements WHERE "+where+
				" AND tenant > ? ORDER BY tenant LIMIT ?) AS c", node, at.After, at.Size()).Column("tenant")
		}
		return q.Where("tenant IN (?)",
			from("relay_node = ?").
				Union(from("source <> '' AND source = ?")).
				Union(from("target <> '' AND target = ?")))
	})
}

func (p placements) HeldBy(ctx context.Context, node string, at port.Page) ([]*placement.Placement, error) {
	return p.page(ctx, at, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("relay_node = ?", node).Where("migration = ''")
	})
}

// placementsOf reads placements by tenant, those that exist.
func placementsOf(ctx context.Context, t *Tx, tenants []string) (map[string]placementRow, error) {
	rows, err := many[placementRow](ctx, t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("tenant IN (?)", bun.List(tenants))
	})
	out := make(map[string]placementRow, len(rows))
	for _, row := range rows {
		out[row.Tenant] = row
	}
	return out, err
}
