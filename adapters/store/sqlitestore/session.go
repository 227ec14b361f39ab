package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"

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

// close ends the connection; one that failed is not given back to its pool.
func (s *session) close() error {
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

// pool lends sessions, each to one goroutine at a time, and opens them when they are first needed.
type pool struct {
	db     *bun.DB
	free   chan *session // nil where none was opened yet
	closed chan struct{}
	once   sync.Once
	err    error
}

func newPool(db *bun.DB, size int) *pool {
	p := &pool{db: db, free: make(chan *session, size), closed: make(chan struct{})}
	for range size {
		p.free <- nil
	}
	return p
}

var errClosed = errors.New("the store was closed")

func (p *pool) take(ctx context.Context) (*session, error) {
	select {
	case <-p.closed:
		return nil, port.Away(errClosed)
	default:
	}
	select {
	case s := <-p.free:
		if s != nil {
			return s, nil
		}
		s, err := openSession(ctx, p.db)
		if err != nil {
			p.free <- nil
			return nil, err
		}
		return s, nil
	case <-ctx.Done():
		return nil, port.Ended(context.Cause(ctx))
	case <-p.closed:
		return nil, port.Away(errClosed)
	}
}

func (p *pool) give(s *session) {
	if s.failed {
		_ = s.close() // it failed before
		s = nil
	}
	p.free <- s
}

// close waits for what is lent, then closes all.
func (p *pool) close() error {
	p.once.Do(func() {
		close(p.closed)
		errs := make([]error, 0, cap(p.free)+1)
		for range cap(p.free) {
			if s := <-p.free; s != nil {
				errs = append(errs, s.close())
			}
		}
		p.err = errors.Join(append(errs, p.db.Close())...)
	})
	return p.err
}
