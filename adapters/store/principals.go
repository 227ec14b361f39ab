package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/authorization"
	port "berth/ports/store"
)

type principalRow struct {
	bun.BaseModel `bun:"table:tenant_principals,alias:p"`

	ID              string  `bun:"id,pk"`
	Tenant          string  `bun:"tenant"`
	Kind            string  `bun:"kind"`
	Role            string  `bun:"role"`
	Status          string  `bun:"status"`
	Name            string  `bun:"name"`
	PublicKey       []byte  `bun:"public_key"`
	Handles         int64   `bun:"handles"`
	CreatedAt       instant `bun:"created_at"`
	RevokedAt       instant `bun:"revoked_at"`
	RevokedBy       string  `bun:"revoked_by"`
	RevokedRevision int64   `bun:"revoked_revision"`
}

func principalTable() table[*authorization.Principal, principalRow] {
	return table[*authorization.Principal, principalRow]{
		thing: "principal", key: "id",
		row: always(func(v *authorization.Principal) principalRow {
			r := v.Record()
			return principalRow{
				ID: r.ID, Tenant: r.Tenant, Kind: string(r.Kind), Role: string(r.Role), Status: string(r.Status),
				Name: r.Name, PublicKey: r.PublicKey[:], Handles: int64(r.Handles), CreatedAt: instant(r.CreatedAt),
				RevokedAt: instant(r.RevokedAt), RevokedBy: r.RevokedBy, RevokedRevision: r.RevokedRevision,
			}
		}),
		value: principalRow.value,
	}
}

func (r principalRow) value() (*authorization.Principal, error) {
	key, err := bytes32(r.PublicKey)
	return authorization.RestorePrincipal(authorization.PrincipalRecord{
		Tenant: r.Tenant, ID: r.ID, Kind: authorization.Kind(r.Kind), Role: authorization.Role(r.Role),
		Status: authorization.Status(r.Status), Name: r.Name, PublicKey: key, Handles: int(r.Handles),
		CreatedAt: time.Time(r.CreatedAt), RevokedAt: time.Time(r.RevokedAt), RevokedBy: r.RevokedBy,
		RevokedRevision: r.RevokedRevision,
	}), err
}

type principals struct {
	aggregate[*authorization.Principal, principalRow]
}

func (p principals) OfTenant(ctx context.Context, tenant string, at port.Page) ([]*authorization.Principal, error) {
	return p.page(ctx, at, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("tenant = ?", tenant) })
}
