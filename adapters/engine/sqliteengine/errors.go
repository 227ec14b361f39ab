package sqliteengine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"berth/domain/fault"
	"berth/ports/engine"
)

// classify is the fault behind an error of the driver, by its result code.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, known := fault.As(err); known {
		return err
	}
	if ctx.Err() != nil {
		return engine.Ended(errors.Join(context.Cause(ctx), err))
	}
	failed, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
			return engine.Away(err)
		}
		return engine.Failed(err)
	}
	const primary = 0xff // the part of a result code that names its family
	switch failed.Code() & primary {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_FULL, codes.SQLITE_IOERR, codes.SQLITE_READONLY,
		codes.SQLITE_CANTOPEN, codes.SQLITE_PROTOCOL, codes.SQLITE_PERM, codes.SQLITE_NOMEM:
		return engine.Away(err)
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return engine.Damaged("node.db", err)
	}
	return engine.Failed(err)
}
