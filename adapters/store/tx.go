package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/uptrace/bun"

	"berth/domain/fault"
	port "berth/ports/store"
)

// Session is what a transaction needs of its database.
type Session struct {
	DB       *bun.DB           // for its dialect: queries run on the transaction's own connection
	Classify func(error) error // the fault behind a driver's error, by its code
	ReadOnly bool              // a view
	Numbered bool              // arguments of a statement are $1, $2 and so on, and not ?
	Origin   string            // the history that is read, as port.Roles has it
}

// Tx is one transaction or view on one connection, used by one goroutine at a time. It neither begins nor ends the
// transaction: that is the adapter's.
type Tx struct {
	session Session
	conn    bun.IConn
	over    bool
	broken  error
}

// NewTx is a transaction that was begun on conn.
func NewTx(s Session, conn bun.IConn) *Tx { return &Tx{session: s, conn: gate{conn}} }

// Run runs fn, after which every use of a role is refused. It fails where fn fails, and where the database did.
func (t *Tx) Run(ctx context.Context, fn func(context.Context, *Tx) error) error {
	defer func() { t.over = true }()
	if err := fn(ctx, t); err != nil {
		return err
	}
	return t.broken
}

// Broken is the first error of the database. A transaction that met one is not to be committed, whatever its function
// made of it: the database may have rolled it back by itself, and would take what follows one statement at a time.
func (t *Tx) Broken() error { return t.broken }

// gate refuses a query that holds text which not every store can hold. Everything bun sends passes it, keys included,
// since bun writes values into the query's text.
type gate struct{ bun.IConn }

func (g gate) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := g.check(query, args); err != nil {
		return nil, err
	}
	return g.IConn.ExecContext(ctx, query, args...)
}

func (g gate) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := g.check(query, args); err != nil {
		return nil, err
	}
	return g.IConn.QueryContext(ctx, query, args...)
}

func (gate) check(query string, args []any) error {
	if len(args) == 0 {
		return port.CheckText(query)
	}
	for _, arg := range args {
		if text, ok := arg.(string); ok {
			if err := port.CheckText(text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tx) reading() error {
	if t.over {
		return port.Over()
	}
	return t.broken
}

func (t *Tx) writing() error {
	if t.session.ReadOnly && !t.over {
		return port.ReadOnly()
	}
	return t.reading()
}

// fault is what err is to the caller of a role. An error of the database breaks the transaction, a refusal does not.
func (t *Tx) fault(err error) error {
	if err == nil {
		return nil
	}
	if _, refused := fault.As(err); refused {
		return err
	}
	t.broken = t.session.Classify(err)
	return t.broken
}

// query formats a query with bun's placeholders and runs it.
func (t *Tx) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.reading(); err != nil {
		return nil, err
	}
	return t.conn.QueryContext(ctx, t.session.DB.QueryGen().FormatQuery(query, args...))
}

// number runs a query that gives one number.
func (t *Tx) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	rows, err := t.query(ctx, query, args...)
	if err != nil {
		return 0, t.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return 0, t.fault(err)
		}
	}
	return n, t.fault(rows.Err())
}

// change runs a statement and says how many rows it changed.
func (t *Tx) change(ctx context.Context, query string, args ...any) (int, error) {
	if err := t.writing(); err != nil {
		return 0, err
	}
	return t.changed(t.conn.ExecContext(ctx, t.session.DB.QueryGen().FormatQuery(query, args...)))
}

func (t *Tx) changed(res sql.Result, err error) (int, error) {
	if err != nil {
		return 0, t.fault(err)
	}
	n, err := res.RowsAffected()
	return int(n), t.fault(err)
}

// perStatement is how many rows one statement writes or looks for: enough that its cost is the rows', and far below
// what any database takes.
const perStatement = 500

// existing counts the keys that a table holds.
func (t *Tx) existing(ctx context.Context, table, columns string, keys tuples) (existing int, err error) {
	for part := range slices.Chunk(keys, perStatement) {
		n, err := t.number(ctx, "SELECT count(*) FROM "+table+" WHERE ("+columns+") IN (VALUES ?)", part)
		if err != nil {
			return 0, err
		}
		existing += int(n)
	}
	return existing, nil
}

type shape = func(q *bun.SelectQuery) *bun.SelectQuery

// one reads the row that shape selects; found is false where there is none.
func one[R any](ctx context.Context, t *Tx, shape shape) (row R, found bool, err error) {
	if err := t.reading(); err != nil {
		return row, false, err
	}
	err = shape(t.session.DB.NewSelect().Conn(t.conn).Model(&row)).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, t.fault(err)
}

// many reads the rows that shape selects.
func many[R any](ctx context.Context, t *Tx, shape shape) ([]R, error) {
	if err := t.reading(); err != nil {
		return nil, err
	}
	var rows []R
	err := shape(t.session.DB.NewSelect().Conn(t.conn).Model(&rows)).Scan(ctx)
	return rows, t.fault(err)
}

// insert adds rows, leaving out those whose key is taken, and says how many it added. A conflict that the database
// would answer with an error is none: on Postgres such an error would end the transaction.
func insert[R any](ctx context.Context, t *Tx, rows []R) (int, error) {
	if err := t.writing(); err != nil || len(rows) == 0 {
		return 0, err
	}
	return t.changed(t.session.DB.NewInsert().Conn(t.conn).Model(&rows).On("CONFLICT DO NOTHING").Exec(ctx))
}

// insertAll adds rows of which none is there.
func insertAll[R any](ctx context.Context, t *Tx, rows []R) error {
	n, err := insert(ctx, t, rows)
	return t.wrote(n, len(rows), err)
}

var errNotWritten = errors.New("the database left out rows that it was given")

// wrote breaks the transaction where rows were not written, and no error says so: a trigger or a rule can do that. Who
// was answered would rest on what nobody finds.
func (t *Tx) wrote(n, want int, err error) error {
	if err == nil && n != want {
		return t.fault(errNotWritten)
	}
	return err
}

// upsert writes rows whether or not there are such; key names the columns of the key.
func upsert[R any](ctx context.Context, t *Tx, key string, rows []R) error {
	if err := t.writing(); err != nil || len(rows) == 0 {
		return err
	}
	on := "CONFLICT (" + key + ") DO UPDATE"
	n, err := t.changed(t.session.DB.NewInsert().Conn(t.conn).Model(&rows).On(on).Exec(ctx))
	return t.wrote(n, len(rows), err)
}

// inParts hands rows to write in as many parts as statements take.
func inParts[R any](rows []R, write func([]R) error) error {
	for part := range slices.Chunk(rows, perStatement) {
		if err := write(part); err != nil {
			return err
		}
	}
	return nil
}

// update writes all columns of the row with this key and says whether there is one.
func update[R any](ctx context.Context, t *Tx, row *R) (bool, error) {
	if err := t.writing(); err != nil {
		return false, err
	}
	n, err := t.changed(t.session.DB.NewUpdate().Conn(t.conn).Model(row).WherePK().Exec(ctx))
	return n > 0, err
}
