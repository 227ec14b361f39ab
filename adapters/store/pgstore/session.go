package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"berth/adapters/store"
	port "berth/ports/store"
)

// session is one connection, lent to one goroutine at a time.
type session struct {
	store  *Store
	conn   *sql.Conn
	raw    *pgconn.PgConn
	server server
	judged int64 // the store's doubts when the schema was last found to be one that this program can work on; -1 before
	used   bool  // it answered once since it was opened
	failed bool  // not to be used again

	patience time.Duration // how long a statement may take; as the options have it where it is 0
}

func (s *Store) openSession(ctx context.Context) (*session, error) {
	conn, err := s.bun.DB.Conn(ctx)
	if err != nil {
		return nil, s.unreachable(err)
	}
	on := &session{store: s, conn: conn, judged: -1}
	err = conn.Raw(func(c any) error {
		pinned, ok := c.(*stdlib.Conn)
		if !ok {
			return errNotPgx
		}
		on.raw = pinned.Conn().PgConn()
		on.server, _ = on.raw.CustomData()[serverKey].(server)
		return nil
	})
	if err != nil {
		return nil, errors.Join(classify(err), conn.Close())
	}
	return on, nil
}

var errNotPgx = errors.New("the driver is not pgx")

// Failed says whether it is not to be used again.
func (s *session) Failed() bool {
	return s.failed || s.raw.IsClosed() || s.store.watch.passed(s.server)
}

// Close ends the connection for good: database/sql keeps none that nobody holds.
func (s *session) Close() error {
	s.limit()
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // which is what it returns
	if err := s.conn.Close(); !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}

// limit bounds what is done next on the connection, for a server that hangs.
func (s *session) limit() {
	d := s.patience
	if d == 0 {
		d = s.store.options.deadline()
	}
	_ = s.raw.Conn().SetDeadline(time.Now().Add(d)) // a connection that is closed says so when it is used
}

// ExecContext runs a statement; one with arguments is prepared once for the connection. The context is asked before, not
// meanwhile.
func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, port.Ended(err)
	}
	s.limit()
	return s.conn.ExecContext(context.WithoutCancel(ctx), query, args...)
}

// QueryContext is ExecContext for a statement that gives rows. One without arguments is bun's own text, which is never
// the same again and so not worth keeping.
func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, port.Ended(err)
	}
	s.limit()
	if len(args) == 0 {
		return s.conn.QueryContext(context.WithoutCancel(ctx), query, pgx.QueryExecModeExec)
	}
	return s.conn.QueryContext(context.WithoutCancel(ctx), query, args...)
}

// QueryRowContext is QueryContext for a single row.
func (s *session) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s.limit()
	return s.conn.QueryRowContext(context.WithoutCancel(ctx), query, slices.Concat([]any{pgx.QueryExecModeExec}, args)...)
}

// control runs statements in one round trip, such as BEGIN, and returns the tag of the last.
func (s *session) control(statements string) (tag string, err error) {
	s.limit()
	results, err := s.raw.Exec(context.Background(), statements).ReadAll()
	if err != nil {
		return "", err
	}
	s.used = true
	if len(results) > 0 {
		tag = results[len(results)-1].CommandTag.String()
	}
	return tag, nil
}

func (s *session) session(readOnly bool) store.Session {
	return store.Session{
		DB: s.store.bun, Classify: classify, ReadOnly: readOnly, Numbered: true, Origin: s.server.origin(),
	}
}

// warnedKey is where a connection keeps that the server warned.
const warnedKey = "warned"

func noticed(conn *pgconn.PgConn, severity string) {
	if severity == "WARNING" {
		conn.CustomData()[warnedKey] = true
	}
}

// warned says whether the server warned since it was last asked.
func (s *session) warned() bool {
	data := s.raw.CustomData()
	warned := data[warnedKey] != nil
	delete(data, warnedKey)
	return warned
}
