package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/authorization"
	port "berth/ports/store"
)

type routeRow struct {
	bun.BaseModel `bun:"table:tenant_routes,alias:r"`

	Tenant    string  `bun:"tenant,pk"`
	ID        string  `bun:"id,pk"`
	CreatedAt instant `bun:"created_at"`
	CreatedBy string  `bun:"created_by"`
}

func (r routeRow) value() authorization.Route {
	return authorization.RestoreRoute(authorization.RouteRecord{
		Tenant: r.Tenant, ID: r.ID, CreatedAt: time.Time(r.CreatedAt), CreatedBy: r.CreatedBy,
	})
}

type routes struct{ t *Tx }

func (r routes) Create(ctx context.Context, v authorization.Route) error {
	record := v.Record()
	n, err := insert(ctx, r.t, []routeRow{{
		Tenant: record.Tenant, ID: record.ID, CreatedAt: instant(record.CreatedAt), CreatedBy: record.CreatedBy,
	}})
	if err == nil && n == 0 {
		return port.Taken("route")
	}
	return err
}

func (r routes) Get(ctx context.Context, tenant, id string) (authorization.Route, error) {
	row, found, err := one[routeRow](ctx, r.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("tenant = ?", tenant).Where("id = ?", id)
	})
	if err == nil && !found {
		return authorization.Route{}, port.Missing("route")
	}
	return row.value(), err
}

func (r routes) OfTenant(ctx context.Context, tenant string, p port.Page) ([]authorization.Route, error) {
	rows, err := many[routeRow](ctx, r.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return paged(q.Where("tenant = ?", tenant), "id", p)
	})
	if err != nil {
		return nil, err
	}
	return convert(r.t, rows, always(routeRow.value))
}
