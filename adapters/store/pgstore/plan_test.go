package pgstore_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	sqlrows "berth/adapters/store"
	"berth/adapters/store/pgstore"
	"berth/domain/fault"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// planner asks how each statement that passes it is carried out.
type planner struct {
	*sql.Conn
	tb    testing.TB
	plans []string
}

func (p *planner) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	p.plan(query, args)
	return p.Conn.ExecContext(ctx, query, args...)
}

func (p *planner) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	p.plan(query, args)
	return p.Conn.QueryContext(ctx, query, args...)
}

func (p *planner) plan(query string, args []any) {
	rows, err := p.Conn.QueryContext(p.tb.Context(), "EXPLAIN (COSTS OFF) "+query, args...)
	if err != nil {
		p.tb.Fatal(query, err)
	}
	defer rows.Close()
	lines := []string{query}
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			p.tb.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		p.tb.Fatal(err)
	}
	p.plans = append(p.plans, strings.Join(lines, "\n"))
}

// No query that runs often, or over what grows, reads a table from end to end, an index without a bound, or sorts what
// an index has in order. Each connection of a store forbids the ways that would do so while another is there, so that
// what is planned hangs neither on how much there is nor on what the server knows of it.
func TestPlans(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	migrated(t, dsn)
	pool := raw(t, dsn)
	db := bun.NewDB(pool, sqlrows.Faithful(pgdialect.New()))
	planned := func(name string, run func(*sqlrows.Tx) error) {
		t.Helper()
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.ExecContext(t.Context(), pgstore.Planning); err != nil {
			t.Fatal(err)
		}
		p := &planner{Conn: conn, tb: t}
		tx := sqlrows.NewTx(sqlrows.Session{DB: db, Classify: func(err error) error { return err }, Numbered: true}, p)
		if err := run(tx); err != nil && fault.KindOf(err) != fault.NotFound {
			t.Fatal(name, err)
		}
		if len(p.plans) == 0 {
			t.Fatal(name + " came to no statement")
		}
		for _, plan := range p.plans {
			if why := bad(name, plan); why != "" {
				t.Errorf("%s %s: %s", name, why, plan)
			}
		}
	}
	for name, run := range storetest.Queries() {
		planned(name, func(tx *sqlrows.Tx) error { return run(t.Context(), tx.Roles()) })
	}
	planned("caller", func(tx *sqlrows.Tx) error {
		c := sqlrows.NewCallers(func(ctx context.Context, fn func(context.Context, *sqlrows.Tx) error) error { return fn(ctx, tx) })
		defer c.Close()
		_, _, err := c.Caller(t.Context(), "fp")
		return err
	})
	planned("poll", func(tx *sqlrows.Tx) error {
		p := sqlrows.NewPolls(func(ctx context.Context, fn func(context.Context, *sqlrows.Tx) error) error { return fn(ctx, tx) })
		defer p.Close()
		_, err := p.Poll(t.Context(), "a")
		return err
	})
	planned("pulse", func(tx *sqlrows.Tx) error {
		p := sqlrows.NewPulses(func(ctx context.Context, fn func(context.Context, *sqlrows.Tx) error) error { return fn(ctx, tx) })
		defer p.Close()
		_, err := p.Pulse(t.Context(), "n")
		return err
	})
	planned("beat", func(tx *sqlrows.Tx) error {
		b := sqlrows.NewBeats(func(ctx context.Context, fn func(context.Context, *sqlrows.Tx) error) error { return fn(ctx, tx) })
		defer b.Close()
		_, err := b.Beat(t.Context(), "n", store.Ticket{Scope: "s", Nonce: "m", ExpiresAt: noon}, keep)
		return err
	})
}

// inOrder are those that read along an index and stop at their limit.
var inOrder = map[string]bool{"oldest": true, "audit head": true}

// bad says what is wrong with a plan: a scan must be bounded, and only a page that was found may be sorted.
func bad(name, plan string) string {
	lines := strings.Split(plan, "\n")
	for i, line := range lines[1:] {
		rest := strings.Join(lines[i+2:], "\n")
		node, _, _ := strings.Cut(rest, "->")
		switch {
		case strings.Contains(line, "Seq Scan"):
			return "reads a table from end to end"
		case strings.Contains(line, "Index") && strings.Contains(line, "Scan using") && !strings.Contains(node, "Index Cond") && !inOrder[name]:
			return "reads an index without a bound"
		case strings.Contains(line, "Sort") && !strings.Contains(line, "Sort Key") && !strings.Contains(rest, "Limit") &&
			!strings.Contains(rest, "Unique") && !strings.Contains(rest, "Values Scan") && !strings.Contains(rest, "Append"):
			return "sorts"
		}
	}
	return ""
}
