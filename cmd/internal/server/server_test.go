package server_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"berth/adapters/apiclient"
	"berth/cmd/internal/config"
	"berth/cmd/internal/devca"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/server"
	"berth/cmd/internal/wiring/berthd"
	"berth/domain/fault"
	"berth/domain/identity"
)

// running is a server within the test.
type running struct {
	tb      testing.TB
	dir     string
	process *berthd.Process
	release func() // of what the process opened
	out     *lines
	stop    context.CancelFunc
	ended   chan error
}

// lines is what a server says of its listeners.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) of(listener string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(l.text.String(), "\n") {
		if url, ok := strings.CutPrefix(line, "listening "+listener+" "); ok {
			return url
		}
	}
	return ""
}

func secretsFile(tb testing.TB, dir, id, key string) string {
	tb.Helper()
	path := filepath.Join(dir, "ingress.json")
	text := `{"secrets":[{"id":"` + id + `","key":"` + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(key, 32))) + `"}]}`
	if err := secretfile.Write(path, []byte(text)); err != nil {
		tb.Fatal(err)
	}
	return path
}

// run serves in a directory with a path short enough for a socket, with further settings.
func run(tb testing.TB, further ...string) *running {
	tb.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	environ := append([]string{
		"BERTH_DATABASE_URL=sqlite:" + dir + "/control.db", "BERTH_KMS_URL=file:" + dir + "/keys", "BERTH_TRUST_DOMAIN=berth.example",
		"BERTH_LISTEN=127.0.0.1:0", "BERTH_METRICS_LISTEN=off", "BERTH_INTERNAL_LISTEN=unix:" + dir + "/s",
		"BERTH_INGRESS_SECRETS_FILE=" + secretsFile(tb, dir, "one", "a"),
	}, further...)
	l, err := config.Load(config.Sources{Environ: environ}, config.ForServing)
	if err != nil {
		tb.Fatal(err)
	}
	p, release, err := berthd.OnSQLite(l.Config, slog.New(slog.DiscardHandler), "test")
	if err != nil {
		tb.Fatal(err)
	}
	release = sync.OnceFunc(release)
	tb.Cleanup(release)
	if _, err := p.Ground.Schema.Up(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &running{tb: tb, dir: dir, process: p, release: release, out: &lines{}, stop: stop, ended: make(chan error, 1)}
	ready := make(chan struct{})
	go func() {
		r.ended <- (&server.Server{Process: p, Out: r.out, Ready: func() { close(ready) }}).Run(ctx)
	}()
	select {
	case <-ready:
	case err := <-r.ended:
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	return r
}

func (r *running) finish() {
	r.tb.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		r.tb.Fatal(err)
	}
}

// A server that stopped has left nothing running behind.
func TestNothingIsLeftRunning(t *testing.T) {
	before := goleak.IgnoreCurrent()
	r := run(t)
	client, err := apiclient.New(apiclient.Options{Base: r.out.of("api")})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	node := r.node("unix:"+r.dir+"/s", "one", "a", nil)
	if _, err := node.SigningKeys(t.Context()); fault.SlugOf(err) != "credential_unknown" {
		t.Fatalf("got %v", err)
	}
	client.Close()
	r.finish()
	if err := r.process.Ground.Store.Ping(t.Context()); err != nil {
		t.Fatalf("the database is let go of too early: %v", err)
	}
	r.release()
	goleak.VerifyNone(t, before)
}

// node is a client that asserts, by a secret, to be a node that nobody knows.
func (r *running) node(base, id, key string, change func(*apiclient.Options)) apiclient.Node {
	r.tb.Helper()
	return r.nodeOf(base, id, key, strings.Repeat("ab", 32), change)
}

// nodeOf is a client that asserts to be the node with a certificate.
func (r *running) nodeOf(base, id, key, fingerprint string, change func(*apiclient.Options)) apiclient.Node {
	r.tb.Helper()
	secret := identity.IngressSecret{ID: id, Key: []byte(strings.Repeat(key, 32))}
	name, err := identity.RelayID("berth.example", "eu", "n1")
	if err != nil {
		r.tb.Fatal(err)
	}
	o := apiclient.Options{Base: base, Proof: apiclient.Assert(func(a identity.Arrived) (string, error) {
		return identity.Seal(secret, identity.Payload{
			SPIFFEID: name, Fingerprint: fingerprint, Method: a.Method, Target: a.Target, Host: a.Host,
			BodySHA256: a.BodySHA256, IssuedAt: time.Now(), ExpiresAt: time.Now().Add(10 * time.Second),
			Nonce: r.process.Ground.IDs.Secret(16),
		})
	})}
	if change != nil {
		change(&o)
	}
	client, err := apiclient.New(o)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(client.Close)
	return apiclient.NewNode(client, "n1")
}

// Secrets are taken up from their file while the server runs: the new one is known, the old one no more.
func TestSecretsAreTakenUp(t *testing.T) {
	t.Parallel()
	r := run(t)
	before, after := r.node("unix:"+r.dir+"/s", "one", "a", nil), r.node("unix:"+r.dir+"/s", "two", "b", nil)
	if _, err := after.SigningKeys(t.Context()); fault.SlugOf(err) != "assertion_secret_unknown" {
		t.Fatalf("got %v", err)
	}
	secretsFile(t, r.dir, "two", "b")
	if _, err := r.process.Secrets.Refresh(); err != nil {
		t.Fatal(err)
	}
	if _, err := after.SigningKeys(t.Context()); fault.SlugOf(err) != "credential_unknown" {
		t.Fatalf("got %v", err)
	}
	if _, err := before.SigningKeys(t.Context()); fault.SlugOf(err) != "assertion_secret_unknown" {
		t.Fatalf("got %v", err)
	}
	r.finish()
}

// Over TCP the internal listener takes the pinned client only; the API has TLS too, and takes up a renewed certificate.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca, err := devca.Open(dir, "berth.example", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, cert, key, err := ca.Server("server")
	if err != nil {
		t.Fatal(err)
	}
	friend, stranger := client(t, ca, "n1"), client(t, ca, "n2")
	r := run(t, "BERTH_TLS_CERT_FILE="+cert, "BERTH_TLS_KEY_FILE="+key, "BERTH_INTERNAL_TLS_CERT_FILE="+cert,
		"BERTH_INTERNAL_TLS_KEY_FILE="+key, "BERTH_INTERNAL_LISTEN=127.0.0.1:0",
		"BERTH_INTERNAL_CLIENT_PINS="+listen.Pin(friend.Leaf.RawSubjectPublicKeyInfo))
	as := func(c *tls.Certificate) error {
		shown := func() (*tls.Certificate, error) { return cmp.Or(c, &tls.Certificate{}), nil }
		_, err := r.node(r.out.of("internal"), "one", "a", func(o *apiclient.Options) { o.CA, o.Certificate = ca.Pool(), shown }).
			SigningKeys(t.Context())
		return err
	}
	if err := as(friend); fault.SlugOf(err) != "credential_unknown" {
		t.Errorf("the pinned client: %v", err)
	}
	for _, c := range []*tls.Certificate{nil, stranger} {
		if err := as(c); fault.SlugOf(err) != "certificate_refused" {
			t.Errorf("another client: %v", err)
		}
	}
	first := served(t, ca, r.out.of("api"))
	if err := errors.Join(os.Remove(cert), os.Remove(key)); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := ca.Server("server"); err != nil {
		t.Fatal(err)
	}
	late := time.Now().Add(time.Minute)
	for served(t, ca, r.out.of("api")) == first {
		if time.Now().After(late) {
			t.Fatal("the renewed certificate is not taken up")
		}
	}
	r.finish()
}

func client(tb testing.TB, ca *devca.CA, node string) *tls.Certificate {
	tb.Helper()
	c, err := ca.Node(node, "spiffe://berth.example/relay/eu/"+node)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// served is the serial number of the certificate that a server shows.
func served(tb testing.TB, ca *devca.CA, url string) string {
	tb.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"})
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// An address that is taken stops the start, and lets go of what was opened before.
func TestAllListenersOrNone(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	r := run(t)
	r.finish()
	p := *r.process
	p.Config.MetricsListen = taken.Addr().String()
	if err := (&server.Server{Process: &p, Out: io.Discard}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the metrics listener") {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Lstat(r.dir + "/s"); !os.IsNotExist(err) {
		t.Fatalf("the socket is left open: %v", err)
	}
}

// What was accepted is finished before a server stops, and nothing new is taken meanwhile.
func TestStopFinishesWhatWasAccepted(t *testing.T) {
	t.Parallel()
	r := run(t)
	api := strings.TrimPrefix(r.out.of("api"), "http://")
	conn, err := net.Dial("tcp", api)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"pairing_code":"AAAA-AAAA-AAAA-AAAA","name":"x","kind":"phone","public_key":"jNFxNNfCTmmDeQhW0P3TGEyEZ1oZXk5oB1VZ1YcCzV8"}`
	fmt.Fprintf(conn, "POST /v1/devices HTTP/1.1\r\nHost: berth\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
		"Expect: 100-continue\r\n\r\n", len(body))
	answers := bufio.NewReader(conn)
	// "Go on" is said once the request is being worked on: it was accepted.
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		t.Fatalf("got %q %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	r.stop()
	late := time.Now().Add(time.Minute)
	for {
		another, err := net.Dial("tcp", api)
		if err != nil {
			break
		}
		_ = another.Close()
		if time.Now().After(late) {
			t.Fatal("a server that stops still takes connections")
		}
	}
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized { // the code is none
		t.Fatalf("the request that was accepted was answered %d", resp.StatusCode)
	}
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
}
