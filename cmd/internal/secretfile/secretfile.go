// Package secretfile reads the files that secrets stand in, and notices when they change. A file that others may read or
// write is refused: what it holds is no secret any more.
package secretfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"berth/domain/fault"
)

const maxSize = 1 << 20

// Read returns what a private file holds. Faults: Invalid file_unreadable, file_unsafe.
func Read(path string) ([]byte, error) {
	// Not to hang where a pipe stands.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(path, err)
	}
	if err := private(path, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(data) > maxSize {
		return nil, fault.New(fault.Invalid, "file_unreadable", "%s has more than %d bytes", path, maxSize)
	}
	return data, nil
}

// unreadable says why in the system's own words, which hold the path and nothing of the file.
func unreadable(path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return fault.New(fault.Invalid, "file_unreadable", "%s can not be read: %v", path, err)
}

// private refuses a file that others may touch. It may belong to root, who puts secrets into containers.
func private(path string, info fs.FileInfo) error {
	unsafe := func(what, cure string) error {
		return fault.New(fault.Invalid, "file_unsafe", "%s %s", path, what).Curable("%s", cure)
	}
	if !info.Mode().IsRegular() {
		return unsafe("is no file", "name the file itself")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return unsafe(fmt.Sprintf("is open to others (mode %04o)", mode), "chmod 600 "+path)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int64(stat.Uid) != int64(os.Geteuid()) {
		return unsafe("belongs to another user", "chown it to the user that runs the process")
	}
	return nil
}

// Write makes or replaces a private file: whole and durable under its name, or not at all.
func Write(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
