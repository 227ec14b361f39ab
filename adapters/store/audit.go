package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/audit"
)

type entryRow struct {
	bun.BaseModel `bun:"table:audit_log,alias:a"`

	Sequence    int64   `bun:"sequence,pk"`
	At          instant `bun:"at"`
	ActorKind   string  `bun:"actor_kind"`
	ActorID     string  `bun:"actor_id"`
	ActorSource string  `bun:"actor_source"`
	Action      string  `bun:"action"`
	Subject     string  `bun:"subject"`
	Detail      string  `bun:"detail"` // JSON; empty for none
	Previous    []byte  `bun:"previous"`
	Hash        []byte  `bun:"hash"`
}

func entryRowOf(e audit.Entry) (entryRow, error) {
	detail, err := encodeMap(e.Detail)
	return entryRow{
		Sequence: e.Sequence, At: instant(e.At), ActorKind: string(e.Actor.Kind), ActorID: e.Actor.ID,
		ActorSource: e.Actor.Source, Action: e.Action, Subject: e.Subject, Detail: detail,
		Previous: e.Previous[:], Hash: e.Hash[:],
	}, err
}

func (r entryRow) value() (e audit.Entry, err error) {
	e = audit.Entry{
		Sequence: r.Sequence, At: time.Time(r.At), Action: r.Action, Subject: r.Subject,
		Actor: audit.Actor{Kind: audit.ActorKind(r.ActorKind), ID: r.ActorID, Source: r.ActorSource},
	}
	if e.Detail, err = decode[map[string]string](r.Detail); err != nil {
		return e, err
	}
	if e.Previous, err = bytes32(r.Previous); err != nil {
		return e, err
	}
	e.Hash, err = bytes32(r.Hash)
	return e, err
}

type entries struct{ t *Tx }

func (e entries) Append(ctx context.Context, d audit.Draft) error {
	if err := e.t.writing(); err != nil {
		return err
	}
	if err := d.Check(); err != nil {
		return err
	}
	head, err := e.Head(ctx)
	if err != nil {
		return err
	}
	row, err := entryRowOf(audit.Seal(head, d))
	if err != nil {
		return e.t.fault(err)
	}
	return insertAll(ctx, e.t, []entryRow{row})
}

func (e entries) Head(ctx context.Context) (audit.Head, error) {
	row, found, err := one[entryRow](ctx, e.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Column("sequence", "hash").OrderExpr("sequence DESC").Limit(1)
	})
	if err != nil || !found {
		return audit.Head{}, err
	}
	hash, err := bytes32(row.Hash)
	return audit.Head{Sequence: row.Sequence, Hash: hash}, e.t.fault(err)
}

func (e entries) Range(ctx context.Context, after int64, limit int) ([]audit.Entry, error) {
	return e.list(ctx, after, limit, whole)
}

func (e entries) About(ctx context.Context, subject string, after int64, limit int) ([]audit.Entry, error) {
	return e.list(ctx, after, limit, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("subject = ?", subject) })
}

func (e entries) list(ctx context.Context, after int64, limit int, shape shape) ([]audit.Entry, error) {
	rows, err := many[entryRow](ctx, e.t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return shape(q).Where("sequence > ?", after).OrderExpr("sequence").Limit(int64(max(limit, 1)))
	})
	if err != nil {
		return nil, err
	}
	return convert(e.t, rows, entryRow.value)
}
