package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // the driver
	codes "modernc.org/sqlite/lib"

	"berth/adapters/store"
	"berth/migrations"
	port "berth/ports/store"
)

// Migration is one step of the schema.
type Migration = store.Migration

// Options are what may be chosen. The zero Options are good.
type Options struct {
	Readers     int           // connections for views; 8 where it is 0
	BusyTimeout time.Duration // how long a call waits for another process's lock; 2.5 s where it is 0
}

func (o Options) orDefaults() Options {
	if o.Readers < 1 {
		o.Readers = 8
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 2500 * time.Millisecond
	}
	return o
}

// Store is a store.Store in a file.
type Store struct {
	*store.Beats
	*store.Callers

	bun     *bun.DB // of the writer; views use its dialect, too
	writer  *pool
	readers *pool
	schema  []store.Migration
	current atomic.Bool // the schema was found to be the one this program knows
}

var _ port.Store = (*Store)(nil)

// Open opens the file, making it (0600) and its folder (0700) where they are not there. It makes no schema: Migrate
// does. Fault: Unavailable store_unavailable when the file can not be had now.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	schema, err := store.Migrations(migrations.SQLite, "sqlite")
	if err != nil {
		return nil, err
	}
	if err := touch(path); err != nil {
		return nil, port.Away(err)
	}
	o = o.orDefaults()
	s := &Store{schema: schema}
	if s.bun, err = connect(path, o, 1, false); err != nil {
		return nil, classify(err)
	}
	readers, err := connect(path, o, o.Readers, true)
	if err != nil {
		return nil, errors.Join(classify(err), s.bun.Close())
	}
	s.writer, s.readers = newPool(s.bun, 1), newPool(readers, o.Readers)
	if err := s.useWAL(ctx, o.BusyTimeout); err != nil {
		return nil, errors.Join(err, s.writer.close(), s.readers.close())
	}
	s.Beats, s.Callers = store.NewBeats(s.whole(s.write)), store.NewCallers(s.whole(s.read))
	return s, nil
}

// Close serves what waits, then lets go of the file. Every later call answers Unavailable store_unavailable.
func (s *Store) Close() error {
	s.Beats.Close()
	s.Callers.Close()
	return errors.Join(s.readers.close(), s.writer.close())
}

// whole is run on a schema that is known.
func (s *Store) whole(run store.Run) store.Run {
	return func(ctx context.Context, fn func(context.Context, *store.Tx) error) error {
		if err := s.known(ctx); err != nil {
			return err
		}
		return run(ctx, fn)
	}
}

// touch makes the file with the rights that SQLite then gives the files beside it, too. It is made under another name
// and never opened under its own: to close a file lets go of all locks that the process has on it, SQLite's included.
func touch(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*.db") // 0600
	if err != nil {
		return err
	}
	err = f.Close()
	if err == nil {
		err = os.Link(f.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// connect makes a handle of up to size connections, none of which makes a file.
func connect(path string, o Options, size int, readOnly bool) (*bun.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	query := url.Values{"mode": {"rw"}, "_dqs": {"0"}, "_pragma": {
		"busy_timeout(" + strconv.FormatInt(o.BusyTimeout.Milliseconds(), 10) + ")",
		"foreign_keys(1)", "synchronous(FULL)", "temp_store(MEMORY)", "journal_size_limit(67108864)", "trusted_schema(0)",
	}}
	if readOnly {
		query.Add("_pragma", "query_only(1)")
	}
	file := url.URL{Scheme: "file", Path: path, OmitHost: true, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return bun.NewDB(db, store.Faithful(sqlitedialect.New())), nil
}

// useWAL makes the file one that is written ahead, and the file keeps that. SQLite does not wait for others that change
// it in the same moment, so this does.
func (s *Store) useWAL(ctx context.Context, patience time.Duration) error {
	on, err := s.writer.take(ctx)
	if err != nil {
		return err
	}
	defer s.writer.give(on)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var mode string
		err := on.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil && mode == "wal" {
			return nil
		}
		if !disturbed(err) {
			return classify(cmp.Or[error](err, errNotWAL))
		}
		select {
		case <-ctx.Done():
			return classify(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

var errNotWAL = port.Away(errors.New("the file can not be written ahead, as on a network's file system"))

// disturbed says whether err is that another process was at the same file: it has a lock, or removed the journal.
func disturbed(err error) bool {
	code, _ := codeOf(err)
	return code&primary == codes.SQLITE_BUSY || code == codes.SQLITE_IOERR_DELETE_NOENT
}
