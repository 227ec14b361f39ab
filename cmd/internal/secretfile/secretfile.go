// Package secretfile reads the files that secrets stand in, and notices when they change. A file that others may read or
// write is refused: what it holds is no secret any more. Roots that are believed are no secret, but for others to write
// them is refused too.
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
func Read(path string) ([]byte, error) { return read(path, private) }

// ReadTrusted returns what a file holds that is no secret, but that others may not write. Faults as of Read.
func ReadTrusted(path string) ([]byte, error) { return read(path, trusted) }

func read(path string, judge func(path string, info fs.FileInfo) error) ([]byte, error) {
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
	if err := judge(path, info); err != nil {
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

// private refuses a file that others may touch.
func private(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); info.Mode().IsRegular() && mode&0o077 != 0 {
		return unsafe(path, fmt.Sprintf("is open to others (mode %04o)", mode), "chmod 600 "+path)
	}
	return owned(path, info)
}

// trusted refuses a file that others may write.
func trusted(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); info.Mode().IsRegular() && mode&0o022 != 0 {
		return unsafe(path, fmt.Sprintf("may be written by others (mode %04o)", mode), "chmod go-w "+path)
	}
	return owned(path, info)
}

func unsafe(path, what, cure string) error {
	return fault.New(fault.Invalid, "file_unsafe", "%s %s", path, what).Curable("%s", cure)
}

// owned refuses what is no file, and a file of somebody else. It may belong to root, who puts secrets into containers.
func owned(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return unsafe(path, "is no file", "name the file itself")
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int64(stat.Uid) != int64(os.Geteuid()) {
		return unsafe(path, "belongs to another user", "chown it to the user that runs the process")
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
