package filesigner_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"berth/adapters/signer/filesigner"
	"berth/domain/fault"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
)

func open(tb testing.TB, dir string) *filesigner.Signer {
	tb.Helper()
	s, err := filesigner.Open(filesigner.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// keys returns a directory that does not exist yet.
func keys(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "state", "keys")
}

func create(tb testing.TB, s *filesigner.Signer) (ref signer.KeyRef, file string) {
	tb.Helper()
	ref, _, err := s.Create(tb.Context(), signer.DeviceToken)
	if err != nil {
		tb.Fatal(err)
	}
	return ref, strings.TrimPrefix(string(ref), "file:") + ".pem"
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	signertest.Run(t, func(tb testing.TB) signertest.Service {
		tb.Helper()
		dir := keys(tb)
		return signertest.Service{Open: func(tb testing.TB) signer.KMS { tb.Helper(); return open(tb, dir) }}
	})
}

// It says at open, where nobody can miss it, that it is for development only.
func TestSaysThatItIsForDevelopment(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, err := filesigner.Open(filesigner.Options{Dir: keys(t), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	must(t, s.Close())
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "never for production") {
		t.Fatalf("it says %q", log.String())
	}
}

// It refuses to run in production, and makes no directory there.
func TestRefusesProduction(t *testing.T) {
	t.Parallel()
	dir := keys(t)
	_, err := filesigner.Open(filesigner.Options{Dir: dir, Production: true})
	if fault.SlugOf(err) != "file_signer_in_production" {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the directory was made: %v", err)
	}
}

// What it makes is closed to others: directory 0700, files 0600, and nothing half written beside them.
func TestWhatItMakesIsClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := keys(t)
	_, file := create(t, open(t, dir))
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, file): 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("the directory holds %v", entries)
	}
}

// Each way in which the directory or a key in it can be unsafe or broken is refused at the start, by name.
func TestRefusesAtOpen(t *testing.T) {
	t.Parallel()
	const unsafe, malformed = "key_file_unsafe", "key_file_malformed"
	cases := map[string]struct {
		slug  string
		spoil func(t *testing.T, dir, file string)
	}{
		"directory open to the group": {unsafe, func(t *testing.T, dir, _ string) { must(t, os.Chmod(dir, 0o750)) }},
		"directory open to all":       {unsafe, func(t *testing.T, dir, _ string) { must(t, os.Chmod(dir, 0o701)) }},
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
		"key is a link within the directory": {unsafe, func(t *testing.T, dir, file string) {
			must(t, os.Symlink(filepath.Base(file), filepath.Join(dir, "other.pem")))
		}},
		"key is a directory": {unsafe, func(t *testing.T, dir, _ string) {
			must(t, os.Mkdir(filepath.Join(dir, "other.pem"), 0o700))
		}},
		"key with the name of no key": {unsafe, func(t *testing.T, dir, file string) {
			must(t, os.Rename(file, filepath.Join(dir, "Key One.pem")))
		}},
		"key file is empty":     {malformed, func(t *testing.T, _, file string) { must(t, os.WriteFile(file, nil, 0o600)) }},
		"key file is truncated": {malformed, func(t *testing.T, _, file string) { must(t, os.Truncate(file, 60)) }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := keys(t)
			s := open(t, dir)
			_, file := create(t, s)
			must(t, s.Close())
			c.spoil(t, dir, filepath.Join(dir, file))
			_, err := filesigner.Open(filesigner.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
			if fault.KindOf(err) != fault.Invalid || fault.SlugOf(err) != c.slug {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// A directory is named: the working directory is not taken for want of one, and a file is no directory.
func TestRefusesWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for dir, slug := range map[string]string{
		"": "key_file_unsafe", ".": "key_file_unsafe", file: "signer_unavailable", file + "/below": "signer_unavailable",
	} {
		if _, err := filesigner.Open(filesigner.Options{Dir: dir}); fault.SlugOf(err) != slug {
			t.Errorf("%q was answered with %v", dir, err)
		}
	}
}

// A key that is opened to others, or swapped for a link, while the process runs stops signing.
func TestStopsSigningWithAKeyThatBecameUnsafe(t *testing.T) {
	t.Parallel()
	dir := keys(t)
	s := open(t, dir)
	ref, name := create(t, s)
	file := filepath.Join(dir, name)
	unavailable := func(when string) {
		t.Helper()
		if _, err := s.Sign(t.Context(), ref, []byte("m")); fault.KindOf(err) != fault.Unavailable {
			t.Fatalf("%s: signing was answered with %v", when, err)
		}
	}
	must(t, os.Chmod(file, 0o644))
	unavailable("open to others")
	must(t, os.Chmod(file, 0o600))
	if _, err := s.Sign(t.Context(), ref, []byte("m")); err != nil {
		t.Fatalf("closed again: %v", err)
	}
	must(t, os.Rename(file, file+".moved"))
	must(t, os.Symlink(file+".moved", file))
	unavailable("a link")
}

// A reference cannot reach a file outside the directory, or one whose name is no id, though it is there.
func TestReferencesReachKeysOnly(t *testing.T) {
	t.Parallel()
	dir := keys(t)
	s := open(t, dir)
	ref, file := create(t, s)
	text, err := os.ReadFile(filepath.Join(dir, file))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(filepath.Dir(dir), "outside.pem"), text, 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "sub", "inside.pem"), text, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "Upper.pem"), text, 0o600))
	for _, bad := range []signer.KeyRef{
		"file:../outside", "file:sub/inside", "file:sub/../" + ref[len("file:"):], "file:Upper", "file:" + signer.KeyRef(dir) + "/x",
	} {
		if _, err := s.Sign(t.Context(), bad, []byte("m")); fault.SlugOf(err) != "key_not_found" {
			t.Errorf("%q was answered with %v", bad, err)
		}
		if err := s.Destroy(t.Context(), bad); fault.SlugOf(err) != "key_not_found" {
			t.Errorf("destroying %q was answered with %v", bad, err)
		}
	}
}

// A directory that goes away makes the signer unavailable, which Ping shows, and nothing else; no key file appears
// elsewhere.
func TestDirectoryGoesAway(t *testing.T) {
	t.Parallel()
	dir := keys(t)
	s := open(t, dir)
	create(t, s)
	must(t, s.Ping(t.Context()))
	must(t, os.RemoveAll(dir))
	if err := s.Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("ping: %v", err)
	}
	if _, _, err := s.Create(t.Context(), signer.CA); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("create: %v", err)
	}
	must(t, os.Mkdir(dir, 0o700))
	if err := s.Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("ping, with another directory in its place: %v", err)
	}
}
