package sqliteengine

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"berth/domain/placement"
)

// writerCache is the page cache of the connection that writes, readerCache that of the one that reads, in KiB.
const (
	writerCache = 128
	readerCache = 64
)

// file is engine.db to whom writes: there is one of each, and everything that is committed goes through it.
type file struct {
	tenant string

	mu   sync.Mutex // held for a transaction
	conn *conn
	known

	begin, commit, rollback, getCopy, setCopy    *statement
	getRoute, addRoute, setRoute                 *statement
	getPrincipal, addPrincipal                   *statement
	addID, getID, addMessage, getMessage         *statement
	addAttachment, getAttachment, allAttachments *statement
	addTombstone                                 *statement
}

// row is the copy's own row.
type row struct {
	placement.Copy

	sequence, messages, attachments, used int64

	beside bool // what is not in the row was changed: that is to be kept, too
}

// openFile opens engine.db and proves that it is the tenant's.
func openFile(path, tenant string) (*file, error) {
	c, err := dial(path, writerCache, "journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(4194304)")
	if err != nil {
		return nil, err
	}
	f := &file{tenant: tenant, conn: c, known: nothing()}
	if err := f.prepare(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return f, nil
}

func (f *file) prepare() error {
	for pragma, want := range map[string]int64{"application_id": engineApplicationID, "user_version": engineVersion} {
		s, err := f.conn.prepare("PRAGMA " + pragma)
		if err != nil {
			return err
		}
		if is, err := s.one(); err != nil {
			return err
		} else if is == nil || number(is[0]) != want {
			return garbled(f.tenant, fmt.Errorf("its %s is %v", pragma, is))
		}
	}
	if err := f.conn.prepared(map[string]**statement{
		"BEGIN IMMEDIATE": &f.begin, "COMMIT": &f.commit, "ROLLBACK": &f.rollback,
		selectCopy: &f.getCopy, updateCopy: &f.setCopy,
		selectRoute: &f.getRoute, insertRoute: &f.addRoute, updateRoute: &f.setRoute,
		selectPrincipal: &f.getPrincipal, insertPrincipal: &f.addPrincipal,
		insertID: &f.addID, selectID: &f.getID, insertMessage: &f.addMessage, selectMessage: &f.getMessage,
		insertAttachment: &f.addAttachment, selectAttachment: &f.getAttachment, selectAttachments: &f.allAttachments,
		insertTombstone: &f.addTombstone,
	}); err != nil {
		return err
	}
	_, err := f.read()
	return err
}

// read reads the copy's row.
func (f *file) read() (r row, err error) {
	is, err := f.getCopy.one()
	switch {
	case err != nil:
		return row{}, err
	case is == nil || text(is[0]) != f.tenant:
		return row{}, garbled(f.tenant, errors.New("it is not that tenant's"))
	}
	return row{
		Copy: placement.Copy{
			Present: true, Stamp: number(is[1]), Fenced: number(is[2]) == 1, FenceVersion: number(is[3]), Migration: text(is[4]),
		},
		sequence: number(is[5]), messages: number(is[6]), attachments: number(is[7]), used: number(is[8]),
	}, nil
}

// within gives fn the copy's row in a transaction, and keeps what it left there and did beside; of an error, and where
// the row did not change, nothing is kept. The caller holds the lock.
func (f *file) within(fn func(*row) error) error {
	if _, err := f.begin.exec(); err != nil {
		return err
	}
	r, err := f.read()
	if err != nil {
		return f.undo(err)
	}
	if r.sequence != f.known.sequence {
		f.known = nothing()
	}
	before := r
	if err := fn(&r); err != nil || r == before {
		return f.undo(err)
	}
	c := r.Copy
	if _, err := f.setCopy.exec(c.Stamp, c.Fenced, c.FenceVersion, c.Migration, r.sequence, r.messages, r.attachments, r.used); err != nil {
		return f.undo(err)
	}
	if _, err := f.commit.exec(); err != nil {
		return f.undo(err)
	}
	f.known.sequence = r.sequence
	return nil
}

// undo ends a transaction of which nothing is kept, nor remembered. SQLite may have ended it itself, so that its error
// says nothing.
func (f *file) undo(why error) error {
	f.known = nothing()
	_, _ = f.rollback.exec()
	return why
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conn.close()
}

// create makes an engine.db of an empty copy, durably but for its name.
func create(path, tenant string, c placement.Copy, sequence int64) (err error) {
	made, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	db, err := dial(path, writerCache, "synchronous(FULL)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	if err := db.run("BEGIN;" + engineSchema); err != nil {
		return err
	}
	s, err := db.prepare(insertCopy)
	if err != nil {
		return err
	}
	if _, err := s.exec(tenant, c.Stamp, c.Fenced, c.FenceVersion, c.Migration, sequence); err != nil {
		return err
	}
	return db.run("COMMIT")
}
