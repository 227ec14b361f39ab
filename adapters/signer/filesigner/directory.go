package filesigner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
	"berth/ports/signer"
)

// leftoverAge is how old an unfinished file must be to be taken for what a crash left behind.
const leftoverAge = time.Hour

func openDirectory(dir string) (*os.Root, error) {
	if dir == "." { // what an empty setting is cleaned to
		return nil, refuse(dir, "keys need a directory of their own", "name one")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, signer.Unreachable(err)
	}
	// Looked at before it is opened, since opening follows a link.
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, signer.Unreachable(err)
	}
	if err := stillThere(dir, root); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

func checkDirectory(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return signer.Unreachable(err)
	}
	if !info.IsDir() {
		return refuse(dir, "is not a directory", "name the directory itself, not a link to it")
	}
	return private(dir, info, 0o700)
}

// stillThere makes sure that the directory that was opened is the one that the path names, and closed to others.
func stillThere(dir string, root *os.Root) error {
	if err := checkDirectory(dir); err != nil {
		return err
	}
	named, err := os.Lstat(dir)
	if err != nil {
		return signer.Unreachable(err)
	}
	opened, err := root.Stat(".")
	if err != nil {
		return signer.Unreachable(err)
	}
	if !os.SameFile(named, opened) {
		return refuse(dir, "was replaced while it was in use", "restart")
	}
	return nil
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

// inspect reads every key, so that a bad one is found at the start and not at the first token, and returns how many
// there are. Files that a crash left half written are removed.
func (s *Signer) inspect() (int, error) {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return 0, signer.Unreachable(err)
	}
	keys := 0
	for _, entry := range entries {
		name, isKey := strings.CutSuffix(entry.Name(), extension)
		if !isKey {
			if err := s.clear(entry); err != nil {
				return 0, signer.Unreachable(err)
			}
			continue
		}
		if ident.Check("name", name) != nil {
			return 0, refuse(entry.Name(), "is no name of a key", "remove it")
		}
		switch _, err := s.read(name); {
		case err == nil:
			keys++
		case absent(err): // destroyed by another process since the directory was listed
		case fault.KindOf(err) == fault.Invalid:
			return 0, err
		default:
			return 0, signer.Unreachable(err)
		}
	}
	return keys, nil
}

// clear removes an entry that is an unfinished key file, unless another process may be writing it just now.
func (s *Signer) clear(entry fs.DirEntry) error {
	if !strings.HasPrefix(entry.Name(), unfinished) {
		return nil
	}
	info, err := entry.Info()
	if err != nil || time.Since(info.ModTime()) < leftoverAge {
		return ignoreAbsent(err)
	}
	return ignoreAbsent(s.root.Remove(entry.Name()))
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func ignoreAbsent(err error) error {
	if absent(err) {
		return nil
	}
	return err
}
