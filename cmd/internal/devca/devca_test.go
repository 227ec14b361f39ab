package devca_test

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"berth/cmd/internal/devca"
	"berth/domain/fault"
)

const (
	domain = "dev.berth.internal"
	nodeID = "spiffe://dev.berth.internal/relay/local/n1"
)

func open(tb testing.TB, dir string, now time.Time) *devca.CA {
	tb.Helper()
	ca, err := devca.Open(dir, domain, now)
	if err != nil {
		tb.Fatal(err)
	}
	return ca
}

func server(tb testing.TB, ca *devca.CA) *x509.Certificate {
	tb.Helper()
	pair, _, _, err := ca.Server("server")
	if err != nil {
		tb.Fatal(err)
	}
	return pair.Leaf
}

func node(tb testing.TB, ca *devca.CA, id string) *x509.Certificate {
	tb.Helper()
	pair, err := ca.Node("node-n1", id)
	if err != nil {
		tb.Fatal(err)
	}
	return pair.Leaf
}

// What the CA signs verifies against it: the server for loopback's names, the node as a client.
func TestCertificatesVerify(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ca := open(t, t.TempDir(), now)
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		if _, err := server(t, ca).Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: host, CurrentTime: now}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	opts := x509.VerifyOptions{Roots: ca.Pool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := node(t, ca, nodeID).Verify(opts); err != nil {
		t.Error(err)
	}
}

// The CA is good for its own trust domain only.
func TestConstraints(t *testing.T) {
	t.Parallel()
	ca := open(t, t.TempDir(), time.Now())
	opts := x509.VerifyOptions{Roots: ca.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	if _, err := node(t, ca, "spiffe://bank.example/relay/local/n1").Verify(opts); err == nil {
		t.Fatal("the CA is good for a foreign trust domain")
	}
}

// A restart finds the same certificates; near their end they are made anew, leaves before the CA, and with the CA all.
func TestReuseAndRenewal(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	first := open(t, dir, now)
	s, n := server(t, first), node(t, first, nodeID)
	again := open(t, dir, now.Add(24*time.Hour))
	if again.Remade() || !server(t, again).Equal(s) || !node(t, again, nodeID).Equal(n) {
		t.Fatal("a restart made certificates anew")
	}
	later := open(t, dir, now.Add(61*24*time.Hour))
	if later.Remade() || server(t, later).Equal(s) {
		t.Fatal("a server's certificate near its end is kept, or the CA is not")
	}
	last := open(t, dir, now.Add(340*24*time.Hour))
	if !last.Remade() || server(t, last).CheckSignatureFrom(s) == nil {
		t.Fatal("a CA near its end is kept")
	}
	if _, err := server(t, last).Verify(x509.VerifyOptions{Roots: last.Pool(), DNSName: "localhost", CurrentTime: now.Add(340 * 24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
}

// Keys are private files; one that others may read is refused, and one that a crash cut short is made anew.
func TestKeyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server(t, open(t, dir, time.Now()))
	for _, name := range []string{"ca-key.pem", "server-key.pem"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v %v", name, info, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "server-key.pem"), []byte("-----BEGIN"), 0o600); err != nil {
		t.Fatal(err)
	}
	server(t, open(t, dir, time.Now()))
	if err := os.Chmod(filepath.Join(dir, "ca-key.pem"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := devca.Open(dir, domain, time.Now()); fault.SlugOf(err) != "file_unsafe" {
		t.Fatalf("an open key is taken: %v", err)
	}
}
