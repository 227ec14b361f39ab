package filesigner

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth/domain/fault"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func armour(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func whole(tb testing.TB) string {
	tb.Helper()
	text, err := encode(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	must(tb, err)
	return string(text)
}

// One PKCS#8 Ed25519 key is read back as written; anything else is refused, and the refusal repeats nothing of it.
func TestDecode(t *testing.T) {
	t.Parallel()
	good := whole(t)
	key, err := decode([]byte(good))
	must(t, err)
	if !key.Equal(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))) {
		t.Fatal("another key was read back")
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(other)
	must(t, err)
	for name, text := range map[string]string{
		"empty":            "",
		"no PEM":           "secret",
		"text before":      "secret\n" + good,
		"text after":       good + "secret",
		"two keys":         good + good,
		"a public key":     strings.ReplaceAll(good, "PRIVATE", "PUBLIC"),
		"an encrypted key": strings.ReplaceAll(good, "PRIVATE", "ENCRYPTED PRIVATE"),
		"headers":          strings.Replace(good, "-----\n", "-----\nProc-Type: secret\n\n", 1),
		"bad DER":          armour(pemType, []byte("secret")),
		"another kind":     armour(pemType, der),
		"too long":         good + strings.Repeat("\n", maxFile),
	} {
		if _, err := decode([]byte(text)); err == nil {
			t.Errorf("%s was taken for a key", name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the refusal says %q", name, err)
		}
	}
}

type owned struct{ uid uint32 }

func (owned) Name() string       { return "x" }
func (owned) Size() int64        { return 1 }
func (owned) Mode() fs.FileMode  { return 0o600 }
func (owned) ModTime() time.Time { return time.Time{} }
func (owned) IsDir() bool        { return false }
func (o owned) Sys() any         { return &syscall.Stat_t{Uid: o.uid} }

// A file of another user is refused whatever its mode: that user can open it to others.
func TestRefusesAnotherUsersFile(t *testing.T) {
	t.Parallel()
	self := uint32(os.Geteuid())
	must(t, private("x", owned{self}, 0o600))
	if err := private("x", owned{self + 1}, 0o600); fault.SlugOf(err) != "key_file_unsafe" {
		t.Fatalf("got %v", err)
	}
}

// What a crash left half written an hour ago is removed at open; what may be being written is not, nor is a stranger's
// file.
func TestClearsLeftovers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keys")
	must(t, os.Mkdir(dir, 0o700))
	old := time.Now().Add(-2 * leftoverAge)
	for name, left := range map[string]bool{unfinished + "old": false, unfinished + "young": true, "README": true} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte("half"), 0o600))
		if name != unfinished+"young" {
			must(t, os.Chtimes(path, old, old))
		}
		s, err := Open(Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		must(t, s.Close())
		if _, err := os.Stat(path); absent(err) == left {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key that cannot be given its name is not left behind half made.
func TestWriteLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keys")
	s, err := Open(Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer s.Close()
	must(t, os.Mkdir(filepath.Join(dir, "taken.pem"), 0o700)) // a file cannot take a directory's name
	if err := s.write("taken", ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))); err == nil {
		t.Fatal("a directory was overwritten")
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 {
		t.Fatalf("the directory holds %v", entries)
	}
}

// Whatever stands in a key file, decoding ends with a whole key or an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(whole(f)))
	f.Add([]byte(""))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := decode(text); err == nil && len(key) != ed25519.PrivateKeySize {
			t.Fatalf("a key of %d bytes", len(key))
		}
	})
}

func BenchmarkSign(b *testing.B) {
	s, err := Open(Options{Dir: filepath.Join(b.TempDir(), "keys"), Logger: slog.New(slog.DiscardHandler)})
	must(b, err)
	defer s.Close()
	ref, _, err := s.Create(b.Context(), "device-token")
	must(b, err)
	message := make([]byte, 500)
	for b.Loop() {
		if _, err := s.Sign(b.Context(), ref, message); err != nil {
			b.Fatal(err)
		}
	}
}
