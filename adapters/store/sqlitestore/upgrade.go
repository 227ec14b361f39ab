package sqlitestore

import (
	"context"
	"time"

	"berth/adapters/store"
)

// application is "Brth" in ASCII: what the header of the file says whose it is. The first step of the schema sets it.
const application = 0x42727468

const createHistory = `CREATE TABLE IF NOT EXISTS schema_history (
    version    INTEGER PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    checksum   TEXT NOT NULL, -- SHA-256 of its SQL in lower-case hex
    applied_at INTEGER NOT NULL,
    readable_from INTEGER NOT NULL
) STRICT`

// Migrate brings the schema up to what this program knows, each step in a transaction of its own, and returns the steps
// that it took itself. Several may do so at once: a step that one began is waited for. A database that later programs
// upgraded, and that this one can still work on, is left as it is. Faults: Conflict schema_newer, schema_altered,
// schema_foreign; Unavailable.
func (s *Store) Migrate(ctx context.Context) ([]Migration, error) { return store.EachStep(ctx, s.step) }

// step takes the first pending step, if there is one.
func (s *Store) step(ctx context.Context) (taken []Migration, err error) {
	c, err := s.connections(ctx)
	if err != nil {
		return nil, err
	}
	err = within(ctx, c.writer, "BEGIN IMMEDIATE", func(on *session) error {
		pending, err := s.pending(ctx, on)
		if err != nil || len(pending) == 0 {
			return err
		}
		if err := apply(ctx, c, on, pending[0]); err != nil {
			return classify(err)
		}
		if err := on.commit(); err != nil {
			return err
		}
		taken = pending[:1]
		return nil
	})
	return taken, err
}

func apply(ctx context.Context, c *connections, on *session, m store.Migration) error {
	if _, err := on.ExecContext(ctx, createHistory); err != nil {
		return err
	}
	if _, err := on.ExecContext(ctx, m.SQL); err != nil {
		return err
	}
	_, err := on.ExecContext(ctx, store.Record(c.bun, m, time.Now()))
	return err
}

func (s *Store) pending(ctx context.Context, on *session) ([]store.Migration, error) {
	applied, err := history(ctx, on)
	if err != nil {
		return nil, err
	}
	return store.Pending(s.schema, applied)
}

// Status returns every step that this program or the database knows, by version.
func (s *Store) Status(ctx context.Context) (out []store.Migration, err error) {
	c, err := s.connections(ctx)
	if err != nil {
		return nil, err
	}
	err = within(ctx, c.readers, "BEGIN", func(on *session) error {
		applied, err := history(ctx, on)
		out = store.Steps(s.schema, applied)
		return err
	})
	return out, err
}

// Ping is as the port has it.
func (s *Store) Ping(ctx context.Context) error {
	c, err := s.connections(ctx)
	if err != nil {
		return err
	}
	return s.judge(ctx, c)
}

func (s *Store) judge(ctx context.Context, c *connections) error {
	return within(ctx, c.readers, "BEGIN", func(on *session) error {
		pending, err := s.pending(ctx, on)
		if err != nil {
			return err
		}
		return store.Outdated(pending)
	})
}

// known refuses a database whose schema is another than this program knows, until it was once found to be.
func (s *Store) known(ctx context.Context, c *connections) error {
	if c.current.Load() {
		return nil
	}
	err := s.judge(ctx, c)
	if err == nil {
		c.current.Store(true)
	}
	return err
}

// history reads the steps that were applied. Fault: Conflict schema_foreign when there is anything that is not Berth's.
func history(ctx context.Context, on *session) ([]store.Migration, error) {
	owner, err := number(ctx, on, "PRAGMA application_id")
	if err != nil {
		return nil, err
	}
	if owner != application {
		things, err := number(ctx, on, "SELECT count(*) FROM sqlite_schema")
		if err == nil && (things > 0 || owner != 0) {
			err = store.Foreign()
		}
		return nil, err
	}
	applied, err := store.Applied(ctx, on)
	return applied, classify(err)
}

func number(ctx context.Context, on *session, query string) (n int64, err error) {
	return n, classify(on.QueryRowContext(ctx, query).Scan(&n))
}
