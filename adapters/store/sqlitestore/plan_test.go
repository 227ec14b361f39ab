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

func ignore[T any](_ T, err error) error { return err }

// No query that runs often, or over what grows, reads a table from end to end or sorts what an index has in order.
func TestPlans(t *testing.T) {
	t.Parallel()
	path := file(t)
	open(t, path)
	db := bun.NewDB(raw(t, path), sqlrows.Faithful(sqlitedialect.New()))
	page := store.Page{After: "a", Limit: 50}
	for name, run := range map[string]func(context.Context, *store.Roles) error{
		"concerning": func(ctx context.Context, r *store.Roles) error {
			return ignore(r.Placements.Concerning(ctx, "n", page))
		},
		"held by":    func(ctx context.Context, r *store.Roles) error { return ignore(r.Placements.HeldBy(ctx, "n", page)) },
		"candidates": func(ctx context.Context, r *store.Roles) error { return ignore(r.Nodes.Candidates(ctx, "eu", page)) },
		"of tenant":  func(ctx context.Context, r *store.Roles) error { return ignore(r.Migrations.OfTenant(ctx, "t", page)) },
		"running":    func(ctx context.Context, r *store.Roles) error { return ignore(r.Migrations.Running(ctx, page)) },
		"running from": func(ctx context.Context, r *store.Roles) error {
			return ignore(r.Migrations.RunningFrom(ctx, "n"))
		},
		"oldest":      func(ctx context.Context, r *store.Roles) error { return ignore(r.Queue.Oldest(ctx, "", 9)) },
		"oldest in":   func(ctx context.Context, r *store.Roles) error { return ignore(r.Queue.Oldest(ctx, "eu", 9)) },
		"principals":  func(ctx context.Context, r *store.Roles) error { return ignore(r.Principals.OfTenant(ctx, "t", page)) },
		"handles":     func(ctx context.Context, r *store.Roles) error { return ignore(r.Handles.OfTenant(ctx, "t")) },
		"own handles": func(ctx context.Context, r *store.Roles) error { return ignore(r.Handles.OfPrincipal(ctx, "t", "p")) },
		"routes":      func(ctx context.Context, r *store.Roles) error { return ignore(r.Routes.OfTenant(ctx, "t", page)) },
		"since":       func(ctx context.Context, r *store.Roles) error { return ignore(r.Changes.Since(ctx, "t", 3, 9)) },
		"drop":        func(ctx context.Context, r *store.Roles) error { return r.Changes.Drop(ctx, "t", 3) },
		"standing":    func(ctx context.Context, r *store.Roles) error { return ignore(r.Standings.Get(ctx, "t")) },
		"differing":   differing,
		"credentials": func(ctx context.Context, r *store.Roles) error { return ignore(r.Credentials.OfNode(ctx, "n")) },
		"in force":    func(ctx context.Context, r *store.Roles) error { return ignore(r.Credentials.InForce(ctx, noon, page)) },
		"keys":        func(ctx context.Context, r *store.Roles) error { return ignore(r.Keys.OfPurpose(ctx, "p")) },
		"spend": func(ctx context.Context, r *store.Roles) error {
			return r.Nonces.Spend(ctx, store.Ticket{Scope: "s", Nonce: "n", ExpiresAt: noon})
		},
		"nonce sweep":  func(ctx context.Context, r *store.Roles) error { return ignore(r.Nonces.Sweep(ctx, noon, 9)) },
		"secret sweep": func(ctx context.Context, r *store.Roles) error { return ignore(r.Secrets.Sweep(ctx, noon, 9)) },
		"once sweep":   func(ctx context.Context, r *store.Roles) error { return ignore(r.Idempotency.Sweep(ctx, noon, 9)) },
		"audit head":   func(ctx context.Context, r *store.Roles) error { return ignore(r.Audit.Head(ctx)) },
		"audit range":  func(ctx context.Context, r *store.Roles) error { return ignore(r.Audit.Range(ctx, 3, 9)) },
		"audit about":  func(ctx context.Context, r *store.Roles) error { return ignore(r.Audit.About(ctx, "a/b", 3, 9)) },
	} {
		planned(t, db, name, func(tx *sqlrows.Tx) error { return run(t.Context(), tx.Roles()) })
	}
	planned(t, db, "caller", func(tx *sqlrows.Tx) error {
		c := sqlrows.NewCallers(func(ctx context.Context, fn func(context.Context, *sqlrows.Tx) error) error { return fn(ctx, tx) })
		defer c.Close()
		_, _, err := c.Caller(t.Context(), "fp")
		return err
	})
	planned(t, db, "beat", func(tx *sqlrows.Tx) error {
		b := sqlrows.NewBeats(func(ctx context.Context, fn func(context.Context, *sqlrows.Tx) error) error { return fn(ctx, tx) })
		defer b.Close()
		return ignore(b.Beat(t.Context(), "n", store.Ticket{Scope: "s", Nonce: "m", ExpiresAt: noon}, keep))
	})
}

func differing(ctx context.Context, r *store.Roles) error {
	_, _, err := r.Standings.Differing(ctx, "n", []store.Known{{Tenant: "a", Generation: 1, Revision: 1}, {Tenant: "b"}})
	return err
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
