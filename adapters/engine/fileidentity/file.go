package fileidentity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"berth/domain/fault"
	"berth/ports/engine"
)

const maxSize = 1 << 18

// read returns what a private file holds; nil where there is none.
func (i *Identity) read(ctx context.Context, name string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, engine.Ended(context.Cause(ctx))
	}
	return readPrivate(i.path(name))
}

func readPrivate(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // not to hang where a pipe stands
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, engine.Away(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, engine.Away(err)
	}
	if err := private(path, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, engine.Away(err)
	}
	if len(data) > maxSize {
		return nil, engine.Damaged(path, nil)
	}
	return data, nil
}

// private refuses a file that others may read or write: what it holds is no secret any more.
func private(path string, info fs.FileInfo) error {
	unsafe := func(what, cure string) error {
		return fault.New(fault.Invalid, "file_unsafe", "%s %s", path, what).Curable("%s", cure)
	}
	if !info.Mode().IsRegular() {
		return unsafe("is no file", "put the file itself there")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return unsafe(fmt.Sprintf("is open to others (mode %04o)", mode), "chmod 600 "+path+"; if others may have read it, enrol the node anew")
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int64(stat.Uid) != int64(os.Geteuid()) {
		return unsafe("belongs to another user", "chown it to the user that runs the node")
	}
	return nil
}

// write makes or replaces a private file: whole and durable under its name, or not at all.
func (i *Identity) write(ctx context.Context, name string, data []byte) error {
	if ctx.Err() != nil {
		return engine.Ended(context.Cause(ctx))
	}
	if err := replace(i.path(name), data); err != nil {
		return engine.Away(err)
	}
	return nil
}

// unfinished begins the names of files that are being written.
const unfinished = ".new-"

// sweep removes the files of writes that never ended.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), unfinished+"*") // of mode 0600
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
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Tokens is an engine.Tokens: a file in which a person leaves a join token. An empty path has none.
type Tokens struct{ Path string }

var _ engine.Tokens = Tokens{}

// Token reads the file as it is now.
func (t Tokens) Token(context.Context) (string, error) {
	if t.Path == "" {
		return "", nil
	}
	data, err := readPrivate(t.Path)
	return strings.TrimSpace(string(data)), err
}
