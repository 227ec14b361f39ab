package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	sqlrows "berth/adapters/store"
	"berth/domain/fault"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// recorder keeps the statements that pass it.
type recorder struct {
	*sql.Conn
	statements []statement
}

type statement struct {
	text string
	args []any
}

func (r *recorder) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r.statements = append(r.statements, statement{query, args})
	return r.Conn.ExecContext(ctx, query, args...)
}

func (r *recorder) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	r.statements = append(r.statements, statement{query, args})
	return r.Conn.QueryContext(ctx, query, args...)
}

// plan is how SQLite carries a statement out.
func (r *recorder) plan(tb testing.TB, s statement) string {
	tb.Helper()
	rows, err := r.Conn.QueryContext(tb.Context(), "EXPLAIN QUERY PLAN "+s.text, s.args...)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, detail)
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// No query that runs often, or over what grows, reads a table from end to end or sorts what an index has in order.
func TestPlans(t *testing.T) {
	t.Parallel()
	path := file(t)
	open(t, path)
	db := bun.NewDB(raw(t, path), sqlrows.Faithful(sqlitedialect.New()))
	for name, run := range storetest.Queries() {
		planned(t, db, name, func(tx *sqlrows.Tx) error { return run(t.Context(), tx.Roles()) })
	}
	planned(t, db, "caller", func(tx *sqlrows.Tx) error {
		c := sqlrows.NewCallers(func(ctx context.Context, fn func(context.Context, *sqlrows.Tx) error) error { return fn(ctx, tx) })
		defer c.Close()
		_, _, err := c.Caller(t.Context(), "fp")
		return err
	})
	planned(t, db, "poll", func(tx *sqlrows.Tx) error {
		p := sqlrows.NewPolls(func(ctx context.Context, fn func(context.Context, *sqlrows.Tx) error) error { return fn(ctx, tx) })
		defer p.Close()
		_, err := p.Poll(t.Context(), "a")
		return err
	})
	planned(t, db, "beat", func(tx *sqlrows.Tx) error {
		b := sqlrows.NewBeats(func(ctx context.Context, fn func(context.Context, *sqlrows.Tx) error) error { return fn(ctx, tx) })
		defer b.Close()
		_, err := b.Beat(t.Context(), "n", store.Ticket{Scope: "s", Nonce: "m", ExpiresAt: noon}, keep)
		return err
	})
}

// planned runs something and judges the plan of every statement that it came to.
func planned(t *testing.T, db *bun.DB, name string, run func(*sqlrows.Tx) error) {
	t.Helper()
	conn, err := db.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := &recorder{Conn: conn}
	classify := func(err error) error { return err }
	if err := run(sqlrows.NewTx(sqlrows.Session{DB: db, Classify: classify}, r)); err != nil && fault.KindOf(err) != fault.NotFound {
		t.Fatal(name, err)
	}
	if len(r.statements) == 0 {
		t.Fatal(errors.New(name + " came to no statement"))
	}
	for _, s := range r.statements {
		plan := r.plan(t, s)
		for line := range strings.Lines(plan) {
			if bad(name, line, plan) {
				t.Errorf("%s: %s\n%s", name, s.text, plan)
				break
			}
		}
	}
}

// inOrder are those that read a table along its key, or an index, and stop at their limit.
var inOrder = map[string]bool{"oldest": true, "audit head": true}

// bad says whether a line of a plan reads all of a table or sorts what is not a page already.
func bad(name, line, plan string) bool {
	line = strings.TrimSpace(line)
	if table, scans := strings.CutPrefix(line, "SCAN "); scans {
		return !strings.Contains(plan, "CO-ROUTINE "+table) && !inOrder[name] && !strings.HasPrefix(table, "CONSTANT")
	}
	return strings.Contains(line, "TEMP B-TREE") && !strings.Contains(plan, "CO-ROUTINE")
}
