package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Tap is an HTTPS server of the test's own between two of Berth's processes. It carries each request on as it came, and a
// test may hold one up, or let its answer get lost, at an exact point.
type Tap struct {
	tb     testing.TB
	server *httptest.Server
	client *http.Client
	life   context.Context // ends with the test

	mu   sync.Mutex
	to   func() string // host:port
	hook Hook
	seen map[string]int
}

// Hook is asked about each request. Forward carries it on and returns the status of the answer, 0 where there was none;
// it may be called once or not at all. Where the hook returns false the connection ends without an answer.
type Hook func(r *http.Request, forward func() int) (answer bool)

// newTap serves with the credentials and carries on to an address, over TLS as the client's configuration says.
func newTap(tb testing.TB, own credentials, to func() string, upstream *tls.Config) *Tap {
	tb.Helper()
	life, end := context.WithCancel(context.Background())
	t := &Tap{tb: tb, to: to, seen: map[string]int{}, life: life}
	t.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: upstream, MaxIdleConnsPerHost: 64}}
	t.server = httptest.NewUnstartedServer(http.HandlerFunc(t.serve))
	t.server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own.cert}, ClientAuth: tls.RequestClientCert}
	t.server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that a killed process leaves
	t.server.StartTLS()
	tb.Cleanup(func() {
		end()
		t.server.CloseClientConnections()
		t.server.Close()
		t.client.CloseIdleConnections()
	})
	return t
}

// URL is its base URL.
func (t *Tap) URL() string { return t.server.URL }

// On lets a hook be asked about each request from now on; nil for none.
func (t *Tap) On(hook Hook) { t.mu.Lock(); defer t.mu.Unlock(); t.hook = hook }

// Seen is how many requests of a method and path came so far.
func (t *Tap) Seen(method, path string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen[method+" "+path]
}

func (t *Tap) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the sender was killed
	}
	t.mu.Lock()
	t.seen[r.Method+" "+r.URL.Path]++
	hook, to := t.hook, t.to()
	t.mu.Unlock()
	if hook == nil {
		hook = func(_ *http.Request, forward func() int) bool { return forward() != 0 }
	}
	ctx := r.Context()
	if r.Method != http.MethodGet {
		ctx = t.life // a change is carried on even if its sender is killed meanwhile: it has been sent
	}
	var answer Answer
	forward := func() int { answer = t.forward(ctx, r, to, body); return answer.Status }
	if !hook(r, forward) || answer.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
}

func (t *Tap) forward(ctx context.Context, r *http.Request, to string, body []byte) Answer {
	target := url.URL{Scheme: "https", Host: to, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	out, err := http.NewRequestWithContext(ctx, r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return Answer{Err: err}
	}
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	out.Host, out.Header = r.Host, r.Header.Clone()
	return send(t.client, out)
}
