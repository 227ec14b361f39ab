package store

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/authorization"
	port "berth/ports/store"
)

type handleRow struct {
	bun.BaseModel `bun:"table:tenant_route_handles,alias:h"`

	Tenant          string  `bun:"tenant,pk"`
	Digest          []byte  `bun:"digest,pk"`
	Principal       string  `bun:"principal"`
	Route           string  `bun:"route"`
	Status          string  `bun:"status"`
	CreatedAt       instant `bun:"created_at"`
	RevokedAt       instant `bun:"revoked_at"`
	RevokedRevision int64   `bun:"revoked_revision"`
}

func handleRowOf(v *authorization.Handle) handleRow {
	r := v.Record()
	return handleRow{
		Tenant: r.Tenant, Digest: r.Digest[:], Principal: r.Principal, Route: r.Route, Status: string(r.Status),
		CreatedAt: instant(r.CreatedAt), RevokedAt: instant(r.RevokedAt), RevokedRevision: r.RevokedRevision,
	}
}

func (r handleRow) value() (*authorization.Handle, error) {
	digest, err := bytes32(r.Digest)
	return authorization.RestoreHandle(authorization.HandleRecord{
		Tenant: r.Tenant, Digest: digest, Principal: r.Principal, Route: r.Route, Status: authorization.Status(r.Status),
		CreatedAt: time.Time(r.CreatedAt), RevokedAt: time.Time(r.RevokedAt), RevokedRevision: r.RevokedRevision,
	}), err
}

type handles struct{ t *Tx }

func (h handles) Add(ctx context.Context, hs []*authorization.Handle) error {
	return h.all(ctx, hs, port.Taken("handle"), func(existing, distinct int) bool { return existing == 0 && distinct == len(hs) },
		func(rows []handleRow) error { return insertAll(ctx, h.t, rows) })
}

func (h handles) Save(ctx context.Context, hs []*authorization.Handle) error {
	return h.all(ctx, hs, port.Missing("handle"), func(existing, distinct int) bool { return existing == distinct },
		func(rows []handleRow) error { return upsert(ctx, h.t, "tenant, digest", rows) })
}

// all writes handles, all of them or none: it counts first which exist.
func (h handles) all(ctx context.Context, hs []*authorization.Handle, refusal error,
	fits func(existing, distinct int) bool, write func([]handleRow) error,
) error {
	if err := h.t.writing(); err != nil {
		return err
	}
	last := map[string]int{} // a handle that is named twice is written as named last
	rows, keys := make([]handleRow, 0, len(hs)), make(tuples, 0, len(hs))
	for _, v := range hs {
		row := handleRowOf(v)
		key := row.Tenant + "\x00" + string(row.Digest)
		if at, named := last[key]; named {
			rows[at] = row
			continue
		}
		last[key] = len(rows)
		rows, keys = append(rows, row), append(keys, []any{row.Tenant, row.Digest})
	}
	existing, err := h.t.existing(ctx, "tenant_route_handles", "tenant, digest", keys)
	if err != nil {
		return err
	}
	if !fits(existing, len(rows)) {
		return refusal
	}
	for part := range slices.Chunk(rows, perStatement) {
		if err := write(part); err != nil {
			return err
		}
	}
	return nil
}

func (h handles) OfPrincipal(ctx context.Context, tenant, principal string) ([]*authorization.Handle, error) {
	return h.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("tenant = ?", tenant).Where("principal = ?", principal)
	})
}

func (h handles) OfTenant(ctx context.Context, tenant string) ([]*authorization.Handle, error) {
	return h.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("tenant = ?", tenant) })
}

func (h handles) list(ctx context.Context, shape shape) ([]*authorization.Handle, error) {
	rows, err := many[handleRow](ctx, h.t, func(q *bun.SelectQuery) *bun.SelectQuery { return shape(q).OrderExpr("digest") })
	if err != nil {
		return nil, err
	}
	return convert(h.t, rows, handleRow.value)
}
