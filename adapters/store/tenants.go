package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/authorization"
	port "berth/ports/store"
)

type tenantRow struct {
	bun.BaseModel `bun:"table:tenant_authorization_state,alias:t"`

	ID         string  `bun:"tenant,pk"`
	Status     string  `bun:"status"`
	Revision   int64   `bun:"revision"`
	Floor      int64   `bun:"floor"`
	Owners     int64   `bun:"owners"`
	Principals int64   `bun:"principals"`
	Handles    int64   `bun:"handles"`
	Routes     int64   `bun:"routes"`
	CreatedAt  instant `bun:"created_at"`
	ChangedAt  instant `bun:"changed_at"`
}

func tenantTable() table[*authorization.Tenant, tenantRow] {
	return table[*authorization.Tenant, tenantRow]{
		thing: "tenant", key: "tenant",
		row: always(func(v *authorization.Tenant) tenantRow {
			r := v.Record()
			return tenantRow{
				ID: r.ID, Status: string(r.Status), Revision: r.Revision, Floor: r.Floor, Owners: int64(r.Owners),
				Principals: int64(r.Principals), Handles: int64(r.Handles), Routes: int64(r.Routes),
				CreatedAt: instant(r.CreatedAt), ChangedAt: instant(r.ChangedAt),
			}
		}),
		value: always(tenantRow.value),
	}
}

func (r tenantRow) value() *authorization.Tenant {
	return authorization.RestoreTenant(authorization.TenantRecord{
		ID: r.ID, Status: authorization.TenantStatus(r.Status), Revision: r.Revision, Floor: r.Floor,
		Owners: int(r.Owners), Principals: int(r.Principals), Handles: int(r.Handles), Routes: int(r.Routes),
		CreatedAt: time.Time(r.CreatedAt), ChangedAt: time.Time(r.ChangedAt),
	})
}

type tenants struct {
	aggregate[*authorization.Tenant, tenantRow]
}

func (t tenants) Create(ctx context.Context, v *authorization.Tenant) error {
	if err := t.t.stir(ctx, v.ID()); err != nil {
		return err
	}
	return t.aggregate.Create(ctx, v)
}

func (t tenants) Save(ctx context.Context, v *authorization.Tenant) error {
	if err := t.t.stir(ctx, v.ID()); err != nil {
		return err
	}
	return t.aggregate.Save(ctx, v)
}

func (t tenants) List(ctx context.Context, p port.Page) ([]*authorization.Tenant, error) {
	return t.page(ctx, p, whole)
}

// tenantsOf reads heads by tenant, those that exist.
func tenantsOf(ctx context.Context, t *Tx, ids []string) (map[string]tenantRow, error) {
	rows, err := many[tenantRow](ctx, t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("tenant IN (?)", bun.List(ids))
	})
	out := make(map[string]tenantRow, len(rows))
	for _, row := range rows {
		out[row.ID] = row
	}
	return out, err
}
