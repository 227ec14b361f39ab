package sqliteengine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"berth/ports/engine"
)

// nodeDB is node.db: what is known of tenants, and a mirror of what each one's copy said last.
type nodeDB struct {
	db    *sql.DB
	older bool // it is of version 1, in which copies had no directories
}

// openNode opens the file, making it (0600) where it is not there, in a directory that is. One connection is enough for a
// node, and what one call changes every later one sees.
// Faults: Unavailable engine_unavailable; Internal engine_damaged, also of another program's file, or a later one's.
func openNode(ctx context.Context, path string) (*nodeDB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, engine.Away(err)
	}
	if err := touch(path); err != nil {
		return nil, engine.Away(err)
	}
	query := url.Values{"mode": {"rw"}, "_dqs": {"0"}, "_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(2500)", "journal_mode(WAL)", "synchronous(FULL)", "temp_store(MEMORY)", "cache_size(-512)",
		"journal_size_limit(4194304)", "trusted_schema(0)",
	}}
	file := url.URL{Scheme: "file", Path: path, OmitHost: true, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return nil, engine.Failed(err)
	}
	db.SetMaxOpenConns(1)
	s := &nodeDB{db: db}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// touch makes the file with the rights that SQLite then gives the files beside it, too, and makes its name durable.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// prepare makes the schema in an empty file, and refuses any other than its own.
func (s *nodeDB) prepare(ctx context.Context) error {
	return s.within(ctx, func(tx *sql.Tx) error {
		var application, version int64
		if err := tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		switch {
		case application == applicationID && version == schemaVersion:
			return nil
		case application == applicationID && version == firstVersion:
			s.older = true
			return nil
		case application == applicationID && version > schemaVersion:
			return engine.Damaged("node.db, which a later version of this program wrote,", nil)
		}
		var tables int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
			return err
		}
		if tables > 0 || application != 0 {
			return engine.Damaged("node.db, which is not this program's,", nil)
		}
		_, err := tx.ExecContext(ctx, schema)
		return err
	})
}

// Close lets go of the file.
func (s *nodeDB) Close() error { return s.db.Close() }

// within runs fn in one transaction, of which nothing is kept where it or its commit fails.
func (s *nodeDB) within(ctx context.Context, fn func(*sql.Tx) error) (err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return classify(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := fn(tx); err != nil {
		return classify(ctx, err)
	}
	return classify(ctx, tx.Commit())
}

// StorageID returns the name of the storage, and gives it one where it has none.
func (s *nodeDB) StorageID(ctx context.Context, fresh func() string) (id string, err error) {
	err = s.within(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT storage_id FROM node").Scan(&id)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		id = fresh()
		_, err = tx.ExecContext(ctx, "INSERT INTO node (one, storage_id) VALUES (1, ?)", id)
		return err
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

// Home returns where the storage was used last.
func (s *nodeDB) Home(ctx context.Context) (h engine.Home, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT place, generation FROM node").Scan(&h.Place, &h.Generation)
	if errors.Is(err, sql.ErrNoRows) {
		return engine.Home{}, nil
	}
	return h, classify(ctx, err)
}

// Settle remembers where the storage is used, which has a name by then.
func (s *nodeDB) Settle(ctx context.Context, h engine.Home) error {
	return s.within(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE node SET place = ?, generation = ?", h.Place, h.Generation)
		return err
	})
}

// All calls each with every tenant.
func (s *nodeDB) All(ctx context.Context, each func(engine.Kept) error) error {
	all, err := s.all(ctx)
	if err != nil {
		return err
	}
	for _, k := range all {
		if err := each(k); err != nil {
			return err
		}
	}
	return nil
}

// all reads everything before anybody looks at it, who may ask for more.
func (s *nodeDB) all(ctx context.Context) (out []engine.Kept, err error) {
	rows, err := s.db.QueryContext(ctx, selectAll)
	if err != nil {
		return nil, classify(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		k, err := scan(rows.Scan)
		if err != nil {
			return nil, classify(ctx, err)
		}
		out = append(out, k)
	}
	return out, classify(ctx, rows.Err())
}

func scan(row func(...any) error) (k engine.Kept, err error) {
	c := &k.Copy
	err = row(&k.Tenant, &k.Generation, &k.Version, &c.Present, &c.Stamp, &c.Fenced, &c.FenceVersion, &c.Migration, &k.Sequence)
	return k, err
}

// Saw raises what is remembered of tenants.
func (s *nodeDB) Saw(ctx context.Context, seen []engine.Seen) error {
	return s.within(ctx, func(tx *sql.Tx) error {
		statement, err := tx.PrepareContext(ctx, raise)
		if err != nil {
			return err
		}
		defer statement.Close()
		for _, one := range seen {
			if _, err := statement.ExecContext(ctx, one.Tenant, one.Generation, one.Version); err != nil {
				return err
			}
		}
		return nil
	})
}

// get returns what is kept of a tenant; known is false where nothing is.
func (s *nodeDB) get(ctx context.Context, tenant string) (k engine.Kept, known bool, err error) {
	k, err = scan(s.db.QueryRowContext(ctx, selectOne, tenant).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return engine.Kept{Seen: engine.Seen{Tenant: tenant}}, false, nil
	case err != nil:
		return engine.Kept{}, false, classify(ctx, err)
	}
	return k, true, nil
}

// put keeps a tenant, but for what was seen of it, which it only raises, and returns it as it is kept then.
func (s *nodeDB) put(ctx context.Context, k engine.Kept) (kept engine.Kept, err error) {
	err = s.within(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, raise, k.Tenant, k.Generation, k.Version); err != nil {
			return err
		}
		c := k.Copy
		row := tx.QueryRowContext(ctx, mirror, c.Present, c.Stamp, c.Fenced, c.FenceVersion, c.Migration, k.Sequence, k.Tenant)
		kept, err = scan(row.Scan)
		return err
	})
	if err != nil {
		return engine.Kept{}, err
	}
	return kept, nil
}

// upgraded marks the file as one whose copies have their directories.
func (s *nodeDB) upgraded(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
	s.older = err != nil
	return classify(ctx, err)
}
