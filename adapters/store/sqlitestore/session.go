package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/uptrace/bun"

	port "berth/ports/store"
)

// session is one connection and the statements that were prepared on it.
type session struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
	open     bool // within a transaction
	failed   bool // not to be used again
}

func openSession(ctx context.Context, db *bun.DB) (*session, error) {
	conn, err := db.DB.Conn(ctx)
	if err != nil {
		return nil, classify(err)
	}
	return &session{conn: conn, prepared: map[string]*sql.Stmt{}}, nil
}

// Failed says whether it is not to be used again.
func (s *session) Failed() bool { return s.failed }

// Close ends the connection; one that failed is not given back to database/sql.
func (s *session) Close() error {
	errs := make([]error, 0, len(s.prepared)+1)
	for _, stmt := range s.prepared {
		errs = append(errs, stmt.Close())
	}
	if s.failed {
		_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // which is what it returns
	}
	if err := s.conn.Close(); !errors.Is(err, sql.ErrConnDone) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// stmt is a statement prepared once for a connection.
func (s *session) stmt(query string) (*sql.Stmt, error) {
	if stmt, found := s.prepared[query]; found {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), query)
	if err == nil {
		s.prepared[query] = stmt
	}
	return stmt, err
}

// ExecContext runs a statement; one with arguments is prepared and kept. The context is asked before, not meanwhile.
func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, port.Ended(err)
	}
	ctx = context.WithoutCancel(ctx)
	if len(args) == 0 {
		return s.conn.ExecContext(ctx, query)
	}
	stmt, err := s.stmt(query) //nolint:sqlclosecheck // it is kept as long as the connection
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// QueryContext is ExecContext for a statement that gives rows.
func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, port.Ended(err)
	}
	ctx = context.WithoutCancel(ctx)
	if len(args) == 0 {
		return s.conn.QueryContext(ctx, query)
	}
	stmt, err := s.stmt(query) //nolint:sqlclosecheck // it is kept as long as the connection
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// QueryRowContext is QueryContext for a single row.
func (s *session) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return s.conn.QueryRowContext(context.WithoutCancel(ctx), query, args...)
}

// control runs BEGIN, COMMIT or ROLLBACK. Its wait for another process's lock ends with the context.
func (s *session) control(ctx context.Context, statement string) error {
	stmt, err := s.stmt(statement) //nolint:sqlclosecheck // it is kept as long as the connection
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx)
	return err
}
