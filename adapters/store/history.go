package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/uptrace/bun"
)

// Steps are every step that is known or was applied, by version.
func Steps(known, applied []Migration) []Migration {
	for _, m := range known[min(len(applied), len(known)):] {
		m.SQL = ""
		applied = append(applied, m)
	}
	return applied
}

// EachStep calls step until it finds none to take, and returns those that it took.
func EachStep(ctx context.Context, step func(context.Context) (taken []Migration, err error)) (all []Migration, err error) {
	for {
		taken, err := step(ctx)
		if err != nil || len(taken) == 0 {
			return all, err
		}
		all = append(all, taken...)
	}
}

// Querier asks a database.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Applied reads the steps that a database has had.
func Applied(ctx context.Context, on Querier) (out []Migration, err error) {
	rows, err := on.QueryContext(ctx,
		"SELECT version, name, checksum, applied_at, readable_from FROM schema_history ORDER BY version")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m Migration
		var at instant
		if err := rows.Scan(&m.Version, &m.Name, &m.Checksum, &at, &m.ReadableFrom); err != nil {
			return nil, err
		}
		m.AppliedAt = time.Time(at)
		out = append(out, m)
	}
	return out, rows.Err()
}

// Record is the statement that says that a step was taken at a time.
func Record(db *bun.DB, m Migration, at time.Time) string {
	return db.QueryGen().FormatQuery(
		"INSERT INTO schema_history (version, name, checksum, applied_at, readable_from) VALUES (?, ?, ?, ?, ?)",
		m.Version, m.Name, m.Checksum, instant(at), m.ReadableFrom)
}
