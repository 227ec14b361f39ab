// Package listen opens the listeners of Berth's processes: TCP, and Unix sockets that take the place of what a crash left
// behind, and of nothing else.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"berth/cmd/internal/settings"
)

// Open listens at an address. Mode is that of a Unix socket's file; it holds from the moment that the socket can be
// connected to.
func Open(ctx context.Context, a settings.Address, mode fs.FileMode) (net.Listener, error) {
	if a.Network == "unix" {
		return openSocket(ctx, a.Value, mode)
	}
	var l net.ListenConfig
	return l.Listen(ctx, a.Network, a.Value)
}

// socket is a Unix listener that holds its path for as long as it is open.
type socket struct {
	net.Listener
	path  string
	lock  *os.File
	inode fs.FileInfo
}

// openSocket takes the place of a socket that a crash left behind. The lock beside it keeps two processes from taking
// one path from one another.
func openSocket(ctx context.Context, path string, mode fs.FileMode) (_ net.Listener, err error) {
	lock, err := Lock(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("listen on unix:%s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = lock.Close()
		}
	}()
	if err := vacant(ctx, path); err != nil {
		return nil, fmt.Errorf("listen on unix:%s: %w", path, err)
	}
	l, err := hidden(ctx, path, mode)
	if err != nil {
		return nil, fmt.Errorf("listen on unix:%s: %w", path, err)
	}
	l.lock = lock
	return l, nil
}

// hidden makes the socket where nobody else can reach it, until it has its mode.
func hidden(ctx context.Context, path string, mode fs.FileMode) (_ *socket, err error) {
	private, err := os.MkdirTemp(filepath.Dir(path), ".s") // of mode 0700
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", made)
	if err != nil {
		return nil, err
	}
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false) // it would remove the first name and leave the second
	}
	s := &socket{Listener: l, path: path}
	if err := s.move(made, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

func (s *socket) move(from string, mode fs.FileMode) (err error) {
	if err := os.Chmod(from, mode); err != nil {
		return err
	}
	if s.inode, err = os.Lstat(from); err != nil {
		return err
	}
	return os.Rename(from, s.path)
}

// Addr names the socket by its path, and not by the name that it was made under.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// Close ends the listener and removes the socket, unless something else stands at its path by now.
func (s *socket) Close() error {
	err := s.Listener.Close()
	if now, statErr := os.Lstat(s.path); statErr == nil && os.SameFile(now, s.inode) {
		err = errors.Join(err, os.Remove(s.path))
	}
	if errors.Is(err, net.ErrClosed) {
		return err
	}
	return errors.Join(err, s.lock.Close())
}

const dialTimeout = time.Second

// vacant refuses a path at which somebody listens, or at which something other than a socket stands.
func vacant(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("something that is no socket stands there; name another path, or move it away")
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_ = conn.Close()
	}
	return errors.New("another process listens there")
}

// ErrHeld is why Lock locks nothing where somebody else has the file.
var ErrHeld = errors.New("another process holds")

// Lock takes a lock file, for as long as it stays open. A lock that another process holds is an error.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w %s", ErrHeld, path)
		}
		return nil, err
	}
	return f, nil
}
