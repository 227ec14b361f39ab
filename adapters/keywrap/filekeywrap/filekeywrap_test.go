package filekeywrap_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"berth/adapters/keywrap/filekeywrap"
	"berth/domain/fault"
	"berth/ports/keywrap"
	"berth/ports/keywrap/keywraptest"
)

func open(tb testing.TB, dir string) *filekeywrap.Wrapper {
	tb.Helper()
	w, err := filekeywrap.Open(filekeywrap.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	must(tb, err)
	tb.Cleanup(func() { _ = w.Close() })
	return w
}

// keys returns a directory that does not exist yet.
func keys(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "state", "keys")
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	keywraptest.Run(t, func(tb testing.TB) keywraptest.Service {
		tb.Helper()
		dir := keys(tb)
		return keywraptest.Service{
			Open:     func(tb testing.TB) keywrap.Wrapper { tb.Helper(); return open(tb, dir) },
			Stranger: func(tb testing.TB) keywrap.Wrapper { tb.Helper(); return open(tb, keys(tb)) },
		}
	})
}

// It says at open, where nobody can miss it, that it is for development only.
func TestSaysThatItIsForDevelopment(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w, err := filekeywrap.Open(filekeywrap.Options{Dir: keys(t), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	must(t, w.Close())
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "never for production") {
		t.Fatalf("it says %q", log.String())
	}
}

// It refuses to run in production, and makes no directory there.
func TestRefusesProduction(t *testing.T) {
	t.Parallel()
	dir := keys(t)
	_, err := filekeywrap.Open(filekeywrap.Options{Dir: dir, Production: true})
	if fault.KindOf(err) != fault.Forbidden || fault.SlugOf(err) != "file_keywrap_in_production" {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the directory was made: %v", err)
	}
}

// Of many that find no key at the same time one makes it, and all use that one; nothing half made is left, and all that
// is made is closed to others.
func TestOneKeyIsMade(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := keys(t)
		var wg sync.WaitGroup
		wrappers := make([]*filekeywrap.Wrapper, 8)
		for i := range wrappers {
			wg.Go(func() {
				w, err := filekeywrap.Open(filekeywrap.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Error(err)
				}
				wrappers[i] = w
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		for _, w := range wrappers {
			wrapped, err := w.Wrap(t.Context(), "b", []byte("secret"))
			must(t, err)
			got, err := wrappers[0].Unwrap(t.Context(), "b", wrapped)
			must(t, err)
			if string(got) != "secret" {
				t.Fatalf("opened as %q", got)
			}
		}
		for _, w := range wrappers {
			must(t, w.Close())
		}
		entries, err := os.ReadDir(dir)
		must(t, err)
		info, err := os.Stat(filepath.Join(dir, filekeywrap.File))
		must(t, err)
		parent, err := os.Stat(dir)
		must(t, err)
		if len(entries) != 1 || info.Mode().Perm() != 0o600 || parent.Mode().Perm() != 0o700 {
			t.Fatalf("left %v, %v in %v", entries, info.Mode(), parent.Mode())
		}
	}
}

type spoil struct {
	slug string
	do   func(t *testing.T, dir, file string)
}

func spoils() map[string]spoil {
	const unsafe, malformed = "key_file_unsafe", "key_file_malformed"
	write := func(text string) func(*testing.T, string, string) {
		return func(t *testing.T, _, file string) { t.Helper(); must(t, os.WriteFile(file, []byte(text), 0o600)) }
	}
	return map[string]spoil{
		"directory open to the group": {unsafe, func(t *testing.T, dir, _ string) { must(t, os.Chmod(dir, 0o750)) }},
		"directory is a link": {unsafe, func(t *testing.T, dir, _ string) {
			must(t, os.Rename(dir, dir+"-real"))
			must(t, os.Symlink(dir+"-real", dir))
		}},
		"key readable by the group": {unsafe, func(t *testing.T, _, file string) { must(t, os.Chmod(file, 0o640)) }},
		"key readable by all":       {unsafe, func(t *testing.T, _, file string) { must(t, os.Chmod(file, 0o604)) }},
		"key is a link": {unsafe, func(t *testing.T, dir, file string) {
			must(t, os.Rename(file, dir+"-moved"))
			must(t, os.Symlink(dir+"-moved", file))
		}},
		"key is a directory": {unsafe, func(t *testing.T, _, file string) {
			must(t, os.Remove(file))
			must(t, os.Mkdir(file, 0o700))
		}},
		"key file is empty":     {malformed, write("")},
		"key file is truncated": {malformed, func(t *testing.T, _, file string) { must(t, os.Truncate(file, 40)) }},
		"a key of another kind": {malformed, write("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")},
		"a short key":           {malformed, write("-----BEGIN BERTH WRAPPING KEY-----\nAAAA\n-----END BERTH WRAPPING KEY-----\n")},
		"text in front":         {malformed, func(t *testing.T, _, file string) { around(t, file, "x\n", "") }},
		"text after it":         {malformed, func(t *testing.T, _, file string) { around(t, file, "", "x\n") }},
		"a very long file":      {malformed, func(t *testing.T, _, file string) { around(t, file, "", strings.Repeat("\n", 5000)) }},
	}
}

func around(t *testing.T, file, before, after string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, []byte(before+string(text)+after), 0o600))
}

// Each way in which the directory or the key can be unsafe or broken is refused at the start, by name, and no other key is
// put in its place.
func TestRefusesAtOpen(t *testing.T) {
	t.Parallel()
	for name, c := range spoils() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := keys(t)
			must(t, open(t, dir).Close())
			c.do(t, dir, filepath.Join(dir, filekeywrap.File))
			for range 2 {
				_, err := filekeywrap.Open(filekeywrap.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
				if fault.KindOf(err) != fault.Invalid || fault.SlugOf(err) != c.slug {
					t.Fatalf("got %v", err)
				}
			}
		})
	}
}

// A key that is taken away or opened to others while it is in use opens nothing from then on, and wraps nothing.
func TestAKeyThatIsGoneOpensNothing(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(file string) error{
		"removed": os.Remove,
		"opened":  func(file string) error { return os.Chmod(file, 0o644) },
		"emptied": func(file string) error { return os.Truncate(file, 0) },
	} {
		dir := keys(t)
		w := open(t, dir)
		wrapped, err := w.Wrap(t.Context(), "b", []byte("secret"))
		must(t, err)
		must(t, away(filepath.Join(dir, filekeywrap.File)))
		_, errWrap := w.Wrap(t.Context(), "b", []byte("secret"))
		_, errUnwrap := w.Unwrap(t.Context(), "b", wrapped)
		if fault.SlugOf(errWrap) != "keywrap_unavailable" || fault.SlugOf(errUnwrap) != "keywrap_unavailable" {
			t.Errorf("%s: %v, %v", name, errWrap, errUnwrap)
		}
	}
}

// Whatever is given to Unwrap, it opens nothing that was not wrapped, and does not break.
func FuzzUnwrap(f *testing.F) {
	w := open(f, filepath.Join(f.TempDir(), "keys"))
	wrapped, err := w.Wrap(f.Context(), "b", []byte("secret"))
	must(f, err)
	f.Add(wrapped)
	f.Add(wrapped[:33])
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := w.Unwrap(t.Context(), "b", text)
		if err == nil && (!bytes.Equal(text, wrapped) || string(got) != "secret") || err != nil && fault.SlugOf(err) != "wrapped_invalid" {
			t.Fatalf("%x opened as %q (%v)", text, got, err)
		}
	})
}
