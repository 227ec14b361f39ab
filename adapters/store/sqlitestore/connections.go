package sqlitestore

import (
	"cmp"
	"context"
	"crypto/rand"
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
	port "berth/ports/store"
)

// connections are those to one file, which is told from another at the same path by what it is on disk.
type connections struct {
	file    os.FileInfo
	bun     *bun.DB // of the writer; views use its dialect, too
	views   *bun.DB
	writer  *store.Pool[*session]
	readers *store.Pool[*session]
	origin  string      // names the file among all that were opened
	current atomic.Bool // the schema was found to be the one this program knows
	wal     atomic.Pointer[os.FileInfo]
}

// connectTo connects to the file that is there, making none. It asks judge whether the file is Berth's to set up before it
// changes anything in it.
func connectTo(
	ctx context.Context, path string, o Options, judge func(context.Context, *connections) (ours bool, err error),
) (*connections, error) {
	file, err := os.Stat(path)
	if err != nil {
		return nil, port.Away(err)
	}
	c := &connections{file: file, origin: rand.Text()}
	if c.bun, err = connect(path, o, 1, false); err != nil {
		return nil, classify(err)
	}
	if c.views, err = connect(path, o, o.Readers, true); err != nil {
		return nil, errors.Join(classify(err), c.bun.Close())
	}
	c.writer, c.readers = sessions(c.bun, 1), sessions(c.views, o.Readers)
	ours, err := judge(ctx, c)
	if err == nil && ours {
		err = c.useWAL(ctx, o.BusyTimeout)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// moved says whether the path leads to another file by now, or to none, or whether the write-ahead log beside it is not
// the one that is written to: what went on into a log that was removed would be gone with the process. When the
// connections are then closed, SQLite takes over into the file what the log they hold has.
func (c *connections) moved(path string) bool {
	now, err := os.Stat(path)
	return err != nil || !os.SameFile(c.file, now) || c.lostLog(path+"-wal")
}

func (c *connections) lostLog(path string) bool {
	now, err := os.Stat(path)
	if known := c.wal.Load(); known != nil {
		return err != nil || !os.SameFile(*known, now)
	}
	if err == nil {
		c.wal.CompareAndSwap(nil, &now)
	}
	return false
}

func (c *connections) close() error {
	return errors.Join(c.readers.Close(), c.writer.Close(), c.views.Close(), c.bun.Close())
}

func (c *connections) session(readOnly bool) store.Session {
	return store.Session{DB: c.bun, Classify: classify, ReadOnly: readOnly, Origin: c.origin}
}

func sessions(db *bun.DB, size int) *store.Pool[*session] {
	return store.NewPool(size, 0, func(ctx context.Context) (*session, error) { return openSession(ctx, db) })
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
func (c *connections) useWAL(ctx context.Context, patience time.Duration) error {
	on, err := c.writer.Take(ctx)
	if err != nil {
		return err
	}
	defer c.writer.Give(on)
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
