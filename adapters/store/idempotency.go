package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	port "berth/ports/store"
)

type onceRow struct {
	bun.BaseModel `bun:"table:idempotent_requests,alias:i"`

	Scope     string  `bun:"scope,pk"`
	Key       string  `bun:"key,pk"`
	Digest    string  `bun:"digest"`
	Done      bool    `bun:"done"`
	Status    int64   `bun:"status"`
	Header    string  `bun:"header"` // JSON; empty for none
	Body      []byte  `bun:"body"`
	CreatedAt instant `bun:"created_at"`
}

func (r onceRow) value() (port.Once, error) {
	header, err := decode[map[string]string](r.Header)
	return port.Once{
		Scope: r.Scope, Key: r.Key, Digest: r.Digest, Done: r.Done, Status: int(r.Status), Header: header, Body: r.Body,
		CreatedAt: time.Time(r.CreatedAt),
	}, err
}

type idempotency struct{ t *Tx }

func (i idempotency) Begin(ctx context.Context, o port.Once) (*port.Once, error) {
	n, err := insert(ctx, i.t, []onceRow{{Scope: o.Scope, Key: o.Key, Digest: o.Digest, CreatedAt: instant(o.CreatedAt)}})
	if err != nil || n > 0 {
		return nil, err
	}
	row, _, err := one[onceRow](ctx, i.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("scope = ?", o.Scope).Where("key = ?", o.Key)
	})
	if err != nil {
		return nil, err
	}
	found, err := row.value()
	if err != nil {
		return nil, i.t.fault(err)
	}
	return &found, port.Taken("once")
}

func (i idempotency) Finish(ctx context.Context, o port.Once) error {
	if err := i.t.writing(); err != nil {
		return err
	}
	header, err := encodeMap(o.Header)
	if err != nil {
		return i.t.fault(err)
	}
	n, err := i.t.change(ctx, `UPDATE idempotent_requests SET done = ?, status = ?, header = ?, body = ?
		WHERE scope = ? AND key = ?`, true, o.Status, header, o.Body, o.Scope, o.Key)
	if err == nil && n == 0 {
		return port.Missing("once")
	}
	return err
}

func (i idempotency) Release(ctx context.Context, scope, key string) error {
	_, err := i.t.change(ctx, "DELETE FROM idempotent_requests WHERE scope = ? AND key = ? AND NOT done", scope, key)
	return err
}

func (i idempotency) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	return i.t.change(ctx, `DELETE FROM idempotent_requests WHERE (scope, key) IN (
		SELECT scope, key FROM idempotent_requests WHERE created_at < ? ORDER BY created_at LIMIT ?)`,
		micros(before), max(limit, 1))
}
