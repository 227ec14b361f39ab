package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"berth/adapters/store"
	"berth/domain/fault"
	port "berth/ports/store"
)

const primary = 0xff // the part of a result code that names its family

func codeOf(err error) (code int, found bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code(), true
}

// classify is the fault behind an error of the driver, by its result code.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if _, known := fault.As(err); known {
		return err
	}
	code, found := codeOf(err)
	switch {
	case found:
		return faultOf(code, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return port.Ended(err)
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone):
		return port.Away(err)
	}
	return store.Broken(err)
}

func faultOf(code int, err error) error {
	switch code & primary {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_FULL, codes.SQLITE_IOERR, codes.SQLITE_READONLY,
		codes.SQLITE_CANTOPEN, codes.SQLITE_PROTOCOL, codes.SQLITE_PERM, codes.SQLITE_NOMEM:
		return port.Away(err)
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return store.Unreadable("the database file is damaged, or is no database", err).
			Curable("restore a backup of it, or name another file").After(port.RefusedAfter)
	}
	switch code {
	case codes.SQLITE_CONSTRAINT_FOREIGNKEY:
		return port.Dangling().Because(err)
	case codes.SQLITE_CONSTRAINT_PRIMARYKEY, codes.SQLITE_CONSTRAINT_UNIQUE:
		return store.Twice(err)
	}
	return store.Broken(err)
}

// unsettled is the fault behind a commit that failed. After these codes nothing is kept; after any other, part of the
// commit may be on disk.
func unsettled(err error) error {
	code, _ := codeOf(err)
	switch code & primary {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_FULL, codes.SQLITE_READONLY, codes.SQLITE_CONSTRAINT:
		return faultOf(code, err)
	}
	return port.Unknown(err)
}
