package sqliteengine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"berth/domain/fault"
	"berth/ports/engine"
)

// classify is the fault behind an error of node.db, by its result code.
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
	switch sort(err) {
	case away, full:
		return engine.Away(err)
	case damaged:
		return engine.Damaged("node.db", err)
	case other:
	}
	return engine.Failed(err)
}

// of is the fault behind an error of a tenant's own files. What is damaged or full is that tenant's alone.
func of(tenant, dir string, err error) error {
	if err == nil {
		return nil
	}
	if _, known := fault.As(err); known {
		return err
	}
	switch s := sort(err); {
	case s == full, s == away && crowded(dir):
		return engine.Full(err)
	case s == away:
		return engine.Away(err)
	case s == damaged:
		return garbled(tenant, err)
	}
	return engine.Failed(err)
}

func garbled(tenant string, err error) error {
	return engine.Damaged("the Engine of tenant "+tenant, err)
}

type kind uint8

const (
	other kind = iota
	away
	full
	damaged
)

// sort says what kind of error it is, of SQLite by result code and of the system by number.
func sort(err error) kind {
	var system syscall.Errno
	switch failed, ok := errors.AsType[*sqlite.Error](err); {
	case ok:
		return sortCode(failed.Code())
	case errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone):
		return away
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return full
	case errors.As(err, &system):
		return away
	}
	return other
}

// primary is the part of a result code that names its family.
const primary = 0xff

func sortCode(code int) kind {
	switch code & primary {
	case codes.SQLITE_FULL:
		return full
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_IOERR, codes.SQLITE_READONLY, codes.SQLITE_CANTOPEN,
		codes.SQLITE_PROTOCOL, codes.SQLITE_PERM, codes.SQLITE_NOMEM:
		return away
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return damaged
	}
	return other
}

// crowded says whether a file system has no room, which SQLite calls an I/O error where it could not grow its index.
func crowded(dir string) bool {
	var s syscall.Statfs_t
	const least = 16 // blocks
	return syscall.Statfs(dir, &s) == nil && s.Bavail < least
}

// lost is an error of opening what belongs to a copy: where it is not there, or has not what a statement names, the copy
// is damaged. What is there and can not be opened may lack nothing but a file descriptor.
func lost(tenant, path string, err error) error {
	failed, ok := errors.AsType[*sqlite.Error](err)
	switch {
	case errors.Is(err, fs.ErrNotExist), ok && failed.Code()&primary == codes.SQLITE_ERROR,
		ok && failed.Code()&primary == codes.SQLITE_CANTOPEN && !isFile(path):
		return garbled(tenant, err)
	}
	return err
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}
