package fileidentity_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"berth/adapters/engine/fileidentity"
	"berth/domain/fault"
	"berth/ports/engine"
	"berth/ports/engine/enginetest"
)

func open(tb testing.TB, dir string) *fileidentity.Identity {
	tb.Helper()
	i, err := fileidentity.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return i
}

func key(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

// The files keep every law, over restarts too.
func TestIdentity(t *testing.T) {
	t.Parallel()
	enginetest.RunIdentity(t, func(tb testing.TB) enginetest.Safe {
		dir := filepath.Join(tb.TempDir(), "identity")
		return enginetest.Safe{Open: func(tb testing.TB) engine.Identity { return open(tb, dir) }}
	})
}

func full(tb testing.TB) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "identity")
	i := open(tb, dir)
	must(tb, i.Install(tb.Context(), engine.Credential{Chain: [][]byte{{1}}, Key: key(1)}))
	must(tb, i.Prepare(tb.Context(), engine.NextKey{Key: key(2), For: "rotate"}))
	must(tb, i.Spend(tb.Context(), [32]byte{7}))
	return dir
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// What a process that was killed had half written, a key in it, is gone once the next one opens the directory; nothing else is.
func TestUnfinishedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	dir := full(t)
	must(t, os.WriteFile(filepath.Join(dir, ".new-1234"), []byte("half a key"), 0o600))
	i := open(t, dir)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind are %v", left)
	}
	if _, ok, err := i.Current(t.Context()); err != nil || !ok {
		t.Errorf("the certificate: %v %v", ok, err)
	}
	if _, ok, err := i.Prepared(t.Context()); err != nil || !ok {
		t.Errorf("the prepared key: %v %v", ok, err)
	}
}

// Nobody but the node's user can read any of it, and nothing temporary is left behind.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := full(t)
	names := []string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		info, statErr := os.Stat(path)
		must(t, statErr)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v", path, info.Mode())
		}
		if !d.IsDir() {
			names = append(names, d.Name())
		}
		return err
	}))
	if got := strings.Join(names, " "); got != "current.pem next-key.pem spent-tokens" {
		t.Errorf("the files are %s", got)
	}
}

// A file that others may read, or that is none, is refused with its cure.
func TestOpenFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := full(t)
	for _, name := range []string{"current.pem", "next-key.pem"} {
		must(t, os.Chmod(filepath.Join(dir, name), 0o640))
	}
	i := open(t, dir)
	_, _, current := i.Current(t.Context())
	_, _, prepared := i.Prepared(t.Context())
	for _, err := range []error{current, prepared} {
		if f, ok := fault.As(err); !ok || f.Slug != "file_unsafe" || f.Cure == "" {
			t.Errorf("got %v", err)
		}
	}
}

// What can not be read as what it was written as is damage, and no error shows a part of a key.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty": "", "garbage": "garbage", "half": "-----BEGIN CERTIFICATE-----\nAQ==\n-----END CERTIFICATE-----\n",
		"no key": "-----BEGIN CERTIFICATE-----\nAQ==\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n",
	} {
		dir := full(t)
		must(t, os.WriteFile(filepath.Join(dir, "current.pem"), []byte(content), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "next-key.pem"), []byte(content), 0o600))
		i := open(t, dir)
		_, _, current := i.Current(t.Context())
		_, _, prepared := i.Prepared(t.Context())
		for _, err := range []error{current, prepared} {
			if fault.SlugOf(err) != "engine_damaged" || strings.Contains(err.Error(), "c2VjcmV0") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A process that ended after the swap and before it removed the prepared key does not take that key for another one, and
// the next one leaves no copy of it.
func TestEndBetweenSwapAndRemoval(t *testing.T) {
	t.Parallel()
	dir := full(t)
	left, err := os.ReadFile(filepath.Join(dir, "next-key.pem"))
	must(t, err)
	must(t, open(t, dir).Install(t.Context(), engine.Credential{Chain: [][]byte{{2}}, Key: key(2)}))
	must(t, os.WriteFile(filepath.Join(dir, "next-key.pem"), left, 0o600))
	if _, found, err := open(t, dir).Prepared(t.Context()); err != nil || found {
		t.Errorf("the installed key is taken for the next one: %v %v", found, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "next-key.pem")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy of the key is left: %v", err)
	}
}

// A join token is read as it lies there now; none is no error, and one that others may read is refused.
func TestTokens(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	for _, at := range []fileidentity.Tokens{{}, {Path: path}} {
		if token, err := at.Token(t.Context()); token != "" || err != nil {
			t.Errorf("no token reads %q %v", token, err)
		}
	}
	must(t, os.WriteFile(path, []byte(" bj_abc\n"), 0o600))
	if token, err := (fileidentity.Tokens{Path: path}).Token(t.Context()); token != "bj_abc" || err != nil {
		t.Errorf("the token reads %q %v", token, err)
	}
	must(t, os.Chmod(path, 0o644))
	if _, err := (fileidentity.Tokens{Path: path}).Token(t.Context()); fault.SlugOf(err) != "file_unsafe" {
		t.Errorf("an open token: %v", err)
	}
}
