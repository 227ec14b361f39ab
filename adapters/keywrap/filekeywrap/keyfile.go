package filekeywrap

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/crypto/chacha20poly1305"

	"berth/domain/fault"
	"berth/ports/keywrap"
)

const (
	// File is the name of the key's file in the directory.
	File = "wrapping.key"

	unfinished = ".new-wrapping-" // what it is called, with a random end, until it is whole
	pemType    = "BERTH WRAPPING KEY"
	maxFile    = 4096 // a true one has about 120 bytes
)

// prepare makes the key where there is none, and makes sure that the one that is there can be used and will be there: the
// process that made it may not have come to make its name durable.
func (w *Wrapper) prepare() error {
	_, err := w.read()
	if errors.Is(err, fs.ErrNotExist) {
		if err := w.create(); err != nil {
			return keywrap.Unreachable(err)
		}
		_, err = w.read()
	}
	if err == nil {
		err = w.sync()
	}
	switch {
	case err == nil:
		return nil
	case fault.KindOf(err) == fault.Invalid:
		return err
	}
	return keywrap.Unreachable(err)
}

// create makes the key's file: whole and durable under its name, or not there at all. A name is linked once only, so that
// of several processes that make one at the same time the first wins, and the others find its key.
func (w *Wrapper) create() (err error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // documented never to fail: it ends the process instead
	part := unfinished + hex.EncodeToString(random[:])
	f, err := w.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.root.Remove(part)) }()
	key := make([]byte, chacha20poly1305.KeySize)
	_, _ = rand.Read(key)
	_, err = f.Write(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: key}))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := w.root.Link(part, File); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// sync makes the names in the directory durable.
func (w *Wrapper) sync() error {
	d, err := w.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// read returns the key in the file, where that is safe to read.
func (w *Wrapper) read() ([]byte, error) {
	before, err := w.root.Lstat(File)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, refuse(File, "is a link or no file at all", "put the key file itself in its place")
	}
	f, err := w.root.OpenFile(File, os.O_RDONLY|syscall.O_NONBLOCK, 0) // not to hang where a pipe took its place
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(before, info) {
		return nil, refuse(File, "was replaced while it was read", "try again")
	}
	if err := private(File, info, 0o600); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// decode reads exactly one key. Its errors hold nothing of the text.
func decode(text []byte) ([]byte, error) {
	block, rest := pem.Decode(text)
	if len(text) > maxFile || !bytes.HasPrefix(text, []byte("-----BEGIN")) || block == nil || len(bytes.TrimSpace(rest)) > 0 ||
		block.Type != pemType || len(block.Headers) > 0 || len(block.Bytes) != chacha20poly1305.KeySize {
		return nil, fault.New(fault.Invalid, "key_file_malformed", "%s holds no wrapping key", File).
			Curable("restore it; what was wrapped under it opens with no other")
	}
	return block.Bytes, nil
}

func openDirectory(dir string) (*os.Root, error) {
	if dir == "." { // what an empty setting is cleaned to
		return nil, refuse(dir, "a key needs a directory of its own", "name one")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, keywrap.Unreachable(err)
	}
	named, err := checkDirectory(dir) // before it is opened, since opening follows a link
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, keywrap.Unreachable(err)
	}
	if err := same(dir, named, root); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

func same(dir string, named fs.FileInfo, root *os.Root) error {
	opened, err := root.Stat(".")
	if err != nil {
		return keywrap.Unreachable(err)
	}
	if !os.SameFile(named, opened) {
		return refuse(dir, "was replaced while it was opened", "restart")
	}
	return nil
}

func checkDirectory(dir string) (fs.FileInfo, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, keywrap.Unreachable(err)
	}
	if !info.IsDir() {
		return nil, refuse(dir, "is not a directory", "name the directory itself, not a link to it")
	}
	return info, private(dir, info, 0o700)
}

// private refuses what others may touch, or what another user may open to them.
func private(path string, info fs.FileInfo, want fs.FileMode) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return refuse(path, fmt.Sprintf("is open to others (mode %04o)", mode), fmt.Sprintf("chmod %o %s", want, path))
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int64(stat.Uid) != int64(os.Geteuid()) {
		return refuse(path, "belongs to another user", "chown it to the user that runs the process")
	}
	return nil
}

func refuse(path, what, cure string) error {
	return fault.New(fault.Invalid, "key_file_unsafe", "%s: %s", path, what).Curable("%s", cure)
}
