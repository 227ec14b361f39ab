package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/placement"
	port "berth/ports/store"
)

type waitingRow struct {
	bun.BaseModel `bun:"table:placement_queue,alias:w"`

	Tenant string  `bun:"tenant,pk"`
	Region string  `bun:"region"`
	Since  instant `bun:"since"`
}

func (r waitingRow) value() placement.Waiting {
	return placement.Waiting{Tenant: r.Tenant, Region: r.Region, Since: time.Time(r.Since)}
}

type queue struct{ t *Tx }

func (q queue) Add(ctx context.Context, w placement.Waiting) error {
	n, err := insert(ctx, q.t, []waitingRow{{Tenant: w.Tenant, Region: w.Region, Since: instant(w.Since)}})
	if err == nil && n == 0 {
		return port.Taken("waiting")
	}
	return err
}

func (q queue) Get(ctx context.Context, tenant string) (placement.Waiting, error) {
	row, found, err := one[waitingRow](ctx, q.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("tenant = ?", tenant)
	})
	if err == nil && !found {
		return placement.Waiting{}, port.Missing("waiting")
	}
	return row.value(), err
}

func (q queue) Remove(ctx context.Context, tenant string) error {
	n, err := q.t.change(ctx, "DELETE FROM placement_queue WHERE tenant = ?", tenant)
	if err == nil && n == 0 {
		return port.Missing("waiting")
	}
	return err
}

func (q queue) Oldest(ctx context.Context, region string, limit int) ([]placement.Waiting, error) {
	rows, err := many[waitingRow](ctx, q.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		if region != "" {
			q = q.Where("region = ?", region)
		}
		return q.OrderExpr("since NULLS FIRST, tenant").Limit(int64(max(limit, 1)))
	})
	if err != nil {
		return nil, err
	}
	return convert(q.t, rows, always(waitingRow.value))
}
