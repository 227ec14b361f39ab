package store

import (
	"context"

	"github.com/uptrace/bun"

	port "berth/ports/store"
)

// table is how one sort of aggregate T is kept in rows R.
type table[T, R any] struct {
	thing string // names its faults
	key   string // the column of its key
	row   func(T) (R, error)
	value func(R) (T, error)
}

// always makes a conversion that can not fail one that could.
func always[A, B any](convert func(A) B) func(A) (B, error) {
	return func(a A) (B, error) { return convert(a), nil }
}

// aggregate is port.Aggregate over a table.
type aggregate[T, R any] struct {
	t     *Tx
	table table[T, R]
}

func (a aggregate[T, R]) Create(ctx context.Context, v T) error {
	if err := a.t.writing(); err != nil {
		return err
	}
	row, err := a.table.row(v)
	if err != nil {
		return a.t.fault(err)
	}
	n, err := insert(ctx, a.t, []R{row})
	if err == nil && n == 0 {
		return port.Taken(a.table.thing)
	}
	return err
}

func (a aggregate[T, R]) Save(ctx context.Context, v T) error {
	if err := a.t.writing(); err != nil {
		return err
	}
	row, err := a.table.row(v)
	if err != nil {
		return a.t.fault(err)
	}
	found, err := update(ctx, a.t, &row)
	if err == nil && !found {
		return port.Missing(a.table.thing)
	}
	return err
}

func (a aggregate[T, R]) Get(ctx context.Context, id string) (v T, err error) {
	row, found, err := one[R](ctx, a.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("? = ?", bun.Ident(a.table.key), id)
	})
	switch {
	case err != nil:
		return v, err
	case !found:
		return v, port.Missing(a.table.thing)
	}
	v, err = a.table.value(row)
	return v, a.t.fault(err)
}

func (a aggregate[T, R]) remove(ctx context.Context, id string) error {
	if err := a.t.writing(); err != nil {
		return err
	}
	n, err := a.t.changed(a.t.session.DB.NewDelete().Conn(a.t.conn).Model((*R)(nil)).
		Where("? = ?", bun.Ident(a.table.key), id).Exec(ctx))
	if err == nil && n == 0 {
		return port.Missing(a.table.thing)
	}
	return err
}

// list reads what shape selects.
func (a aggregate[T, R]) list(ctx context.Context, shape shape) ([]T, error) {
	rows, err := many[R](ctx, a.t, shape)
	if err != nil {
		return nil, err
	}
	return convert(a.t, rows, a.table.value)
}

// page reads one page of what shape selects, by key.
func (a aggregate[T, R]) page(ctx context.Context, p port.Page, shape shape) ([]T, error) {
	return a.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery { return paged(shape(q), a.table.key, p) })
}

func paged(q *bun.SelectQuery, key string, p port.Page) *bun.SelectQuery {
	return q.Where("? > ?", bun.Ident(key), p.After).OrderExpr("?", bun.Ident(key)).Limit(int64(p.Size()))
}

func whole(q *bun.SelectQuery) *bun.SelectQuery { return q }

func convert[A, B any](t *Tx, from []A, value func(A) (B, error)) ([]B, error) {
	out := make([]B, 0, len(from))
	for _, a := range from {
		b, err := value(a)
		if err != nil {
			return nil, t.fault(err)
		}
		out = append(out, b)
	}
	return out, nil
}
