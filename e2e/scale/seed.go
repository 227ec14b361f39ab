package scale

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"berth/domain/audit"
)

// Seed makes what a plan says in a database whose schema is there, in one transaction; the audit chain goes on from what
// it is. No berthd works on the database meanwhile.
func Seed(ctx context.Context, dsn string, p Plan) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // after a commit it does nothing
	head, err := chainHead(ctx, tx)
	if err != nil {
		return err
	}
	for _, t := range p.tables(&chain{head}) {
		if err := t.copy(ctx, tx); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	// What the planner knows of the tables, and which pages hold only rows that all can see, is told as of now.
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}

func chainHead(ctx context.Context, tx pgx.Tx) (audit.Head, error) {
	var head audit.Head
	var hash []byte
	err := tx.QueryRow(ctx, "SELECT sequence, hash FROM audit_log ORDER BY sequence DESC LIMIT 1").Scan(&head.Sequence, &hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return head, nil
	}
	copy(head.Hash[:], hash)
	return head, err
}

func (t table) copy(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromSlice(t.rows, func(i int) ([]any, error) {
		return t.row(i), nil
	}))
	return err
}
