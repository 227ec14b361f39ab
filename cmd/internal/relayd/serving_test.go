package relayd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/clock/systemclock"
	"berth/adapters/connect"
	"berth/application/relay"
	"berth/domain/placement"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine/enginetest"
	"berth/ports/ids/idstest"
)

// written is what a process printed so far.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) { w.mu.Lock(); defer w.mu.Unlock(); return w.b.Write(p) }

// address waits for the line of a listener.
func (w *written) address(t *testing.T, name string) string {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		w.mu.Lock()
		_, rest, found := strings.Cut(w.b.String(), "listening "+name+" ")
		w.mu.Unlock()
		if found {
			at, _, _ := strings.Cut(rest, "\n")
			return at
		}
		select {
		case <-late:
			t.Fatalf("there is no listener of %s", name)
		case <-time.After(time.Millisecond):
		}
	}
}

// keep writes a certificate and its key where the configuration has them.
func keep(t *testing.T, c Config, pair *tls.Certificate, chain []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	for path, text := range map[string][]byte{c.TLSCertFile: chain, c.TLSKeyFile: key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A process serves devices by the certificate that its files have now, refuses who shows no token, and when it is stopped
// takes nobody any more and ends well, the node that has no control plane included.
func TestServesDevices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := Default()
	c.Listen, c.MetricsListen, c.StopGrace = "127.0.0.1:0", "off", 5*time.Second
	c.TLSCertFile, c.TLSKeyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	first, firstPEM := selfSigned(t, 1)
	keep(t, c, first, firstPEM)
	p, out := process(t, c), &written{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, out) }()
	at := out.address(t, "devices")
	if serial, answer := asks(t, at); serial != 1 || !strings.HasPrefix(answer, "HTTP/1.1 401 ") {
		t.Errorf("by certificate %d: %s", serial, answer)
	}
	second, secondPEM := selfSigned(t, 2)
	keep(t, c, second, secondPEM)
	late := time.Now().Add(10 * time.Second)
	for serial, _ := asks(t, at); serial != 2; serial, _ = asks(t, at) {
		if time.Now().After(late) {
			t.Fatal("the certificate that was replaced is served on")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if conn, err := net.Dial("tcp", at); err == nil {
		_ = conn.Close()
		t.Error("it takes devices after its end")
	}
}

// asks asks for a WebSocket without a token: the answer's first line, and by which certificate it came.
func asks(t *testing.T, at string) (serial int64, answer string) {
	t.Helper()
	conn, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /connect/v1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: berth.connect.v1\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 256)
	n, err := conn.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), string(buffer[:n])
}

// process is one whose control plane knows no such node.
func process(t *testing.T, c Config) *Process {
	t.Helper()
	clock, err := systemclock.New()
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	terms := placement.DefaultLeaseTerms()
	client := &authoritytest.Client{Control: authoritytest.New(clock, terms, terms), Node: "n0"}
	disk := enginetest.NewMemory()
	n, err := relay.New(relay.DefaultSettings(authoritytest.SPIFFEID("n0")), relay.Ports{
		Clock: clock, IDs: idstest.New(1), Log: log, Disk: disk, Engines: disk, Identity: disk, Tokens: none{},
		Authority: relay.Authority{
			Leases: client, Assignments: client, Authorizations: client, Migrations: client, Credentials: client, Enrolment: client,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	serving, err := NewServing(c, connect.New(connect.Options{Limits: c.Limits(), Log: log}, connect.Of(n), nil), log)
	if err != nil {
		t.Fatal(err)
	}
	return &Process{Config: c, Node: n, Serving: serving, Log: log}
}

// none has no join token.
type none struct{}

func (none) Token(context.Context) (string, error) { return "", nil }
