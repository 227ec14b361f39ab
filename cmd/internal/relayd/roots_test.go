package relayd

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
)

func selfSigned(tb testing.TB, serial int64) (*tls.Certificate, []byte) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// The certificates of the control plane can be replaced by those of another CA while a node lives: what its ca_file says
// counts from when it is said, for the ingress and for enrolment, and what can not be read changes nothing.
func TestRootsAreReplaced(t *testing.T) {
	t.Parallel()
	first, firstPEM := selfSigned(t, 1)
	second, secondPEM := selfSigned(t, 2)
	var shown atomic.Pointer[tls.Certificate]
	shown.Store(first)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close") // so that each request needs a handshake
		_, _ = io.WriteString(w, `{"generation":1}`)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // refused handshakes
	server.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return shown.Load(), nil }}
	server.StartTLS()
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(firstPEM)
	c := Config{Node: "n1", CAFile: file, ControlURL: "https://localhost" + server.URL[len("https://127.0.0.1"):]}
	roots, err := OpenRoots(c)
	if err != nil {
		t.Fatal(err)
	}
	a, err := OpenAuthority(c, NewShown(), roots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	ctx, stop := context.WithCancel(t.Context())
	p := &Process{Config: c, Authority: a, Roots: roots, Log: slog.New(slog.DiscardHandler)}
	var following sync.WaitGroup
	following.Go(func() { p.followRoots(ctx) })
	t.Cleanup(following.Wait)
	t.Cleanup(stop)
	both := func() (control, enrol error) {
		_, control = a.Register(t.Context(), placement.Registration{BootID: "b", StorageID: "s"})
		_, enrol = a.Enroll(t.Context(), "token", nil)
		return control, enrol
	}
	believed := func() bool {
		control, enrol := both()
		return control == nil && fault.SlugOf(enrol) != "server_unreachable"
	}
	if control, enrol := both(); !believed() {
		t.Fatalf("the first CA's server: %v, %v", control, enrol)
	}
	shown.Store(second)
	if believed() {
		t.Fatal("another CA's server is believed")
	}
	write([]byte("garbage"))
	if changed, err := roots.Refresh(); changed || err == nil {
		t.Fatalf("garbage was taken: %v", err)
	}
	write(secondPEM)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for late := time.Now().Add(20 * time.Second); !believed(); <-look.C {
		if time.Now().After(late) {
			control, enrol := both()
			t.Fatalf("the roots that were replaced do not count: %v, %v", control, enrol)
		}
	}
}
