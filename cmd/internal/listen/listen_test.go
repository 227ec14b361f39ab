package listen_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth/cmd/internal/listen"
	"berth/cmd/internal/settings"
)

// shortDir is a directory whose path leaves room for a socket's.
func shortDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func address(path string) settings.Address { return settings.Address{Network: "unix", Value: path} }

// A socket has its mode, is found at its path, and is gone when it is closed.
func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "s")
	l, err := listen.Open(t.Context(), address(path), 0o660)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o660 || l.Addr().String() != path {
		t.Fatalf("%v %v at %s", info, err, l.Addr())
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("hello"))
			_ = c.Close()
		}
	}()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); err != nil || string(text) != "hello" {
		t.Fatalf("got %q %v", text, err)
	}
	_ = c.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Fatalf("the socket is left behind: %v", err)
	}
}

// What a crash left behind is replaced; a socket in use, by Berth or by another program, is not, nor is a file.
func TestReplacing(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	stale := filepath.Join(dir, "stale")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	l, err := listen.Open(t.Context(), address(stale), 0o600)
	if err != nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	if _, err := listen.Open(t.Context(), address(stale), 0o600); err == nil || !strings.Contains(err.Error(), "another process holds") {
		t.Fatalf("a second listener: %v", err)
	}
	if c, err := net.Dial("unix", stale); err != nil {
		t.Fatalf("the first listener suffered: %v", err)
	} else {
		_ = c.Close()
	}
	_ = l.Close()
	foreign, err := net.Listen("unix", filepath.Join(dir, "foreign"))
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if _, err := listen.Open(t.Context(), address(filepath.Join(dir, "foreign")), 0o600); err == nil || !strings.Contains(err.Error(), "listens there") {
		t.Fatalf("another program's socket: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen.Open(t.Context(), address(file), 0o600); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Fatalf("a file: %v", err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
		t.Fatal("the file suffered")
	}
	// After what failed the path can still be used.
	_ = os.Remove(file)
	if l, err = listen.Open(t.Context(), address(file), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

func pair(tb testing.TB) tls.Certificate {
	tb.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}
}

// The internal listener takes a client whose key is pinned, by TLS 1.3, and no other: not one without a certificate, not
// one with another key, not one by an older protocol.
func TestPinnedTLS(t *testing.T) {
	t.Parallel()
	server, friend, stranger := pair(t), pair(t), pair(t)
	pins := []string{strings.ToUpper(listen.Pin(friend.Leaf.RawSubjectPublicKeyInfo))}
	c := listen.PinnedTLS(func() *tls.Certificate { return &server }, pins)
	l, err := tls.Listen("tcp", "127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(server.Leaf)
	try := func(most uint16, certs ...tls.Certificate) error {
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "localhost", Certificates: certs, MaxVersion: most})
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = io.ReadFull(conn, make([]byte, 5))
		return err
	}
	if err := try(tls.VersionTLS13, friend); err != nil {
		t.Errorf("the pinned client: %v", err)
	}
	if try(tls.VersionTLS13) == nil || try(tls.VersionTLS13, stranger) == nil || try(tls.VersionTLS12, friend) == nil {
		t.Error("a client is let in that should not be")
	}
}
