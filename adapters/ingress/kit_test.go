package ingress_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"berth/adapters/ingress"
	"berth/adapters/ingress/upstream"
	"berth/domain/identity"
	"berth/ports/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	trustDomain = "berth.example"
	patience    = 10 * time.Second
)

// world is an ingress on loopback before a stub of the control plane, on a Unix socket.
type world struct {
	tb        testing.TB
	ca        *authority
	trust     *ingress.Trust
	clock     *movable
	secretsMu sync.Mutex
	secrets   identity.IngressSecrets
	addr      string
	back      *backend
	metrics   *prometheus.Registry
	log       *lines
	stop      context.CancelFunc
	done      chan error
}

// movable is the machine's clock with an offset that a test sets.
type movable struct {
	mu     sync.Mutex
	by     time.Duration
	frozen bool // no timer fires
}

func (m *movable) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Add(m.by)
}

func (m *movable) shift(by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.by = by
}

func (m *movable) Elapsed() time.Duration { return time.Since(time.Time{}) }

func (m *movable) NewTimer(d time.Duration) clock.Timer {
	if m.frozen {
		d = time.Hour
	}
	return timer{time.NewTimer(d)}
}

type timer struct{ *time.Timer }

func (t timer) C() <-chan time.Time { return t.Timer.C }

// random gives ids that nobody gave before.
type random struct{}

func (random) New(prefix string) string { return prefix + "_" + rand.Text() }

func (random) Secret(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.Read(out) // never fails
	return out
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func secretsOf(tb testing.TB, ids ...string) identity.IngressSecrets {
	tb.Helper()
	var all []identity.IngressSecret
	for _, id := range ids {
		sum := sha256.Sum256([]byte(id))
		all = append(all, identity.IngressSecret{ID: id, Key: sum[:]})
	}
	s, err := identity.NewIngressSecrets(all, nil)
	must(tb, err)
	return s
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// shortDir is a directory whose path leaves room for a socket's.
func shortDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "b")
	must(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// change sets an option of which the backend is a part.
type change = func(*world, *ingress.Options)

// start runs an ingress whose limits and options a test may change.
func start(tb testing.TB, changes ...change) *world {
	tb.Helper()
	w := &world{
		tb: tb, ca: newAuthority(tb, "root"), trust: new(ingress.Trust), clock: &movable{}, secrets: secretsOf(tb, "s1"),
		metrics: prometheus.NewRegistry(), log: &lines{}, done: make(chan error, 1),
	}
	_, err := w.trust.Set(w.ca.pem())
	must(tb, err)
	w.back = newBackend(tb, w)
	server := w.ca.issue(tb, serverTemplate())
	o := ingress.Options{
		TrustDomain: trustDomain, Trust: w.trust, Certificate: func() *tls.Certificate { return server },
		Secrets: w.getSecrets, Limits: ingress.DefaultLimits(),
		Upstream:  upstream.New(upstream.Options{Endpoints: []upstream.Endpoint{w.back.endpoint()}}),
		AccessLog: ingress.LogAll, Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Clock: w.clock, IDs: random{}, Metrics: ingress.NewMetrics(w.metrics),
	}
	for _, f := range changes {
		f(w, &o)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(tb, err)
	w.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	g := ingress.New(o)
	g.Observe(w.metrics)
	go func() { w.done <- g.Run(ctx, l, 5*time.Second) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-w.done; err != nil && !tb.Failed() {
			tb.Errorf("the ingress ended with %v", err)
		}
		w.done <- nil
	})
	return w
}

// client is the certificate of a node.
func (w *world) client(node string) *tls.Certificate {
	return w.ca.issue(w.tb, nodeTemplate("spiffe://"+trustDomain+"/relay/eu/"+node))
}

// dial connects as a client with a certificate.
func (w *world) dial(cert *tls.Certificate) (*tls.Conn, error) {
	c := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}
	if cert != nil {
		c.Certificates = []tls.Certificate{*cert}
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", w.addr, c)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	w.tb.Cleanup(func() { _ = conn.Close() })
	return conn, nil
}

// as is an open connection of a node.
func (w *world) as(node string) *client {
	w.tb.Helper()
	conn, err := w.dial(w.client(node))
	must(w.tb, err)
	return newClient(w.tb, conn)
}

// client is one connection.
type client struct {
	tb testing.TB
	*tls.Conn
	r *bufio.Reader
}

func (c *client) write(text string) {
	c.tb.Helper()
	_, err := io.WriteString(c.Conn, text)
	must(c.tb, err)
}

// answer is an answer that was read to its end.
type answer struct {
	*http.Response
	text string
}

// slug is that of a problem; empty for another answer.
func (a answer) slug() string {
	_, rest, _ := strings.Cut(a.text, `"type":"urn:berth:problem:`)
	slug, _, _ := strings.Cut(rest, `"`)
	return slug
}

func (c *client) read() (answer, error) {
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp, string(text)}, err
}

// ask sends raw bytes and reads one answer.
func (c *client) ask(text string) answer {
	c.tb.Helper()
	c.write(text)
	a, err := c.read()
	must(c.tb, err)
	return a
}

// closed tells whether the other side closes the connection without saying more.
func (c *client) closed() bool {
	rest, err := io.ReadAll(c.r)
	return len(rest) == 0 && !isTimeout(err)
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

const get = "GET /internal/v1/peers HTTP/1.1\r\nHost: berth\r\n\r\n"

func (w *world) count(name string, labels ...string) float64 {
	w.tb.Helper()
	families, err := w.metrics.Gather()
	must(w.tb, err)
	total := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			text := m.String()
			matches := true
			for _, l := range labels {
				matches = matches && strings.Contains(text, `"`+l+`"`)
			}
			if matches {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return total
}

// eventually waits for what comes about by itself.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	late := time.After(patience)
	for !holds() {
		select {
		case <-late:
			tb.Fatalf("it never came about that %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func newClient(tb testing.TB, conn *tls.Conn) *client {
	return &client{tb: tb, Conn: conn, r: bufio.NewReader(conn)}
}
