package secretfile

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Watched is a value that files hold, as they hold it now. Its methods are safe for concurrent use.
type Watched[T any] struct {
	paths []string
	load  func() (T, error)
	value atomic.Pointer[T]

	mu   sync.Mutex
	seen string // how the files looked when they were read last
}

// Watch loads the value for the first time.
func Watch[T any](load func() (T, error), paths ...string) (*Watched[T], error) {
	w := &Watched[T]{paths: paths, load: load}
	_, err := w.Reload()
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Current is the value that was read last.
func (w *Watched[T]) Current() T { return *w.value.Load() }

// Reload reads the files. What can not be used leaves the value as it was.
func (w *Watched[T]) Reload() (changed bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = w.look()
	v, err := w.load()
	if err != nil {
		return false, err
	}
	w.value.Store(&v)
	return true, nil
}

// Refresh reads the files where they changed since they were read last. A change that can not be used is told once.
func (w *Watched[T]) Refresh() (changed bool, err error) {
	w.mu.Lock()
	same := w.look() == w.seen
	w.mu.Unlock()
	if same {
		return false, nil
	}
	return w.Reload()
}

// look tells files apart by all that changes with them, through the links that mounted secrets are.
func (w *Watched[T]) look() string {
	var out strings.Builder
	for _, path := range w.paths {
		info, err := os.Stat(path)
		if err != nil {
			out.WriteString("absent\n")
			continue
		}
		fmt.Fprintf(&out, "%d %s %s", info.Size(), info.Mode(), info.ModTime())
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			fmt.Fprintf(&out, " %d %d %v", stat.Dev, stat.Ino, stat.Ctim)
		}
		out.WriteByte('\n')
	}
	return out.String()
}
