package secretfile_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"berth/cmd/internal/secretfile"
	"berth/domain/fault"
	"berth/domain/identity"
)

func write(tb testing.TB, path, text string, mode os.FileMode) string {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		tb.Fatal(err)
	}
	return path
}

func key(c string) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(c, 32))) }

// A file that others may read or write is refused, and so is what is no file; the cure is named.
func TestOpenFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o660: false, 0o602: false} {
		path := write(t, filepath.Join(dir, "f"), "x", mode)
		_, err := secretfile.Read(path)
		if (err == nil) != ok {
			t.Errorf("mode %o: %v", mode, err)
		}
		if f, is := fault.As(err); !ok && (!is || f.Slug != "file_unsafe" || !strings.Contains(f.Cure, "chmod 600")) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := secretfile.Read(dir); fault.SlugOf(err) != "file_unsafe" {
		t.Errorf("a directory: %v", err)
	}
	if _, err := secretfile.Read(filepath.Join(dir, "absent")); fault.SlugOf(err) != "file_unreadable" {
		t.Errorf("an absent file: %v", err)
	}
	// A mounted secret is a link; what counts is the file behind it.
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "f"), "x", 0o600)
	if _, err := secretfile.Read(filepath.Join(dir, "link")); err != nil {
		t.Errorf("a link: %v", err)
	}
}

// What is no secret may be read by others, and is refused where they may write it.
func TestTrustedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o444: true, 0o644: true, 0o664: false, 0o646: false, 0o620: false} {
		_, err := secretfile.ReadTrusted(write(t, filepath.Join(dir, "f"), "x", mode))
		if (err == nil) != ok {
			t.Errorf("mode %o: %v", mode, err)
		}
		if f, is := fault.As(err); !ok && (!is || f.Slug != "file_unsafe" || !strings.Contains(f.Cure, "chmod go-w")) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := secretfile.ReadTrusted(dir); fault.SlugOf(err) != "file_unsafe" {
		t.Errorf("a directory: %v", err)
	}
}

// A write replaces the file as a whole, with mode 0600, and leaves nothing else behind.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "f"), "old", 0o644)
	if err := secretfile.Write(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if data, err := secretfile.Read(path); err != nil || string(data) != "new" {
		t.Fatalf("got %q %v", data, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Fatalf("left behind: %v %v", entries, err)
	}
}

// Ingress secrets come in JSON and in YAML, the one to seal with first.
func TestIngressSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"secrets":[{"id":"two","key":"` + key("b") + `"},{"id":"one","key":"` + key("a") + `"}],"retired":["zero"]}`,
		"secrets:\n  - id: two\n    key: " + key("b") + "\n  - {id: one, key: " + key("a") + "}\nretired: [zero]\n",
	} {
		s, err := secretfile.IngressSecrets(write(t, filepath.Join(t.TempDir(), "f"), text, 0o600))
		if err != nil || s.Sealing().ID != "two" {
			t.Errorf("got %v %v", s.Sealing(), err)
		}
	}
}

// What is no such file is refused, and no complaint repeats a key.
func TestBadIngressSecrets(t *testing.T) {
	t.Parallel()
	for text, slug := range map[string]string{
		"": "ingress_secrets_malformed", "[]": "ingress_secrets_malformed", "{}": "ingress_secret_count",
		`{"secrets":"` + key("a") + `"}`:                                                                                            "ingress_secrets_malformed",
		`{"secrets":[{"id":"one","key":"` + key("a") + `","x":1}]}`:                                                                 "ingress_secrets_malformed",
		`{"secrets":[{"id":"one","key":"!` + key("a") + `"}]}`:                                                                      "ingress_secrets_malformed",
		`{"secrets":[{"id":"one","key":"YWJj"}]}`:                                                                                   "ingress_secret_short",
		`{"secrets":[{"id":"one","key":"` + key("a") + `"}],"retired":["one"]}`:                                                     "ingress_secret_repeated",
		`{"secrets":[{"id":"a","key":"` + key("a") + `"},{"id":"b","key":"` + key("b") + `"},{"id":"c","key":"` + key("c") + `"}]}`: "ingress_secret_count",
	} {
		_, err := secretfile.IngressSecrets(write(t, filepath.Join(t.TempDir(), "f"), text, 0o600))
		if fault.SlugOf(err) != slug || strings.Contains(err.Error(), key("a")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A bootstrap token is one visible line that nobody guesses.
func TestBootstrapToken(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("a1", 16)
	for text, ok := range map[string]bool{
		good: true, good + "\n": true, "short": false, "": false, good + "\n" + good: false, good + "\x00": false,
		strings.Repeat("a", 257): false,
	} {
		token, err := secretfile.BootstrapToken(write(t, filepath.Join(t.TempDir(), "f"), text, 0o600))
		if (err == nil) != ok || ok && token != good {
			t.Errorf("%q: %q %v", text, token, err)
		}
	}
}

// A value follows its file. What can not be used is told once and leaves the value as it was.
func TestWatched(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "f"), `{"secrets":[{"id":"one","key":"`+key("a")+`"}]}`, 0o600)
	w, err := secretfile.Watch(func() (identity.IngressSecrets, error) { return secretfile.IngressSecrets(path) }, path)
	if err != nil {
		t.Fatal(err)
	}
	refresh := func(changed, failed bool, sealing string) {
		t.Helper()
		got, err := w.Refresh()
		if got != changed || (err != nil) != failed || w.Current().Sealing().ID != sealing {
			t.Fatalf("changed %v, error %v, sealing with %s", got, err, w.Current().Sealing().ID)
		}
	}
	refresh(false, false, "one")
	write(t, path, `{"secrets":[{"id":"two","key":"`+key("b")+`"}]}`, 0o600)
	refresh(true, false, "two")
	write(t, path, "broken", 0o600)
	refresh(false, true, "two")
	refresh(false, false, "two")
	write(t, path, `{"secrets":[{"id":"three","key":"`+key("c")+`"}]}`, 0o644)
	refresh(false, true, "two")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	refresh(true, false, "three")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refresh(false, true, "three")
}

// A value that can not be had at the start is an error.
func TestWatchedFromTheStart(t *testing.T) {
	t.Parallel()
	want := errors.New("no")
	if _, err := secretfile.Watch(func() (int, error) { return 0, want }); !errors.Is(err, want) {
		t.Fatalf("got %v", err)
	}
}
