package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// Tap is an HTTPS server of the test's own between two of Berth's processes. It carries each request on as it came, and a
// test may hold one up, or let its answer get lost, at an exact point.
type Tap struct {
	server *httptest.Server
	client *http.Client
	life   context.Context // ends with the test

	mu    sync.Mutex
	to    func() string // host:port
	hooks map[int]hooked
	next  int
	seen  map[string]int
	no    bytes.Buffer // every refusal that passed
}

// Hook has its way with a request. Forward carries it on and returns the status of the answer, 0 where there was none; it
// may be called once or not at all. Where the hook returns false the connection ends without an answer.
type Hook func(forward func() int) (answer bool)

// hooked is a hook and the requests that it is for.
type hooked struct {
	match func(r *http.Request, body []byte) bool
	hook  Hook
}

// Path matches requests of a method and path.
func Path(method, path string) func(*http.Request, []byte) bool {
	return func(r *http.Request, _ []byte) bool { return r.Method == method && r.URL.Path == path }
}

// Holding matches requests whose body holds a text.
func Holding(text string) func(*http.Request, []byte) bool {
	return func(_ *http.Request, body []byte) bool { return bytes.Contains(body, []byte(text)) }
}

// newTap serves with the credentials and carries on to an address, over TLS as the client's configuration says.
func newTap(tb testing.TB, own credentials, to func() string, upstream *tls.Config) *Tap {
	tb.Helper()
	life, end := context.WithCancel(context.Background())
	t := &Tap{to: to, hooks: map[int]hooked{}, seen: map[string]int{}, life: life}
	t.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: upstream, MaxIdleConnsPerHost: 64}}
	t.server = httptest.NewUnstartedServer(http.HandlerFunc(t.serve))
	t.server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own.cert}, ClientAuth: tls.RequestClientCert}
	t.server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that a killed process leaves
	t.server.Listener = honest{t.server.Listener, t}
	t.server.StartTLS()
	tb.Cleanup(func() {
		end()
		t.server.CloseClientConnections()
		t.server.Close()
		t.client.CloseIdleConnections()
	})
	return t
}

// honest ends a connection at once where there is nobody to carry it on to, as if nobody listened.
type honest struct {
	net.Listener
	tap *Tap
}

// Accept returns the next connection that can be carried on.
func (l honest) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		far, err := net.DialTimeout("tcp", l.tap.to(), time.Second)
		if err == nil {
			return c, far.Close()
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// Sever ends every connection, as the death of the process behind it does.
func (t *Tap) Sever() { t.server.CloseClientConnections() }

// URL is its base URL.
func (t *Tap) URL() string { return t.server.URL }

// On lets a hook have its way with the requests that match, until off is called.
func (t *Tap) On(match func(r *http.Request, body []byte) bool, hook Hook) (off func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := t.next
	t.next++
	t.hooks[id] = hooked{match, hook}
	return func() { t.mu.Lock(); defer t.mu.Unlock(); delete(t.hooks, id) }
}

// hookFor is the hook that was set first of those that match, or one that carries every request on.
func (t *Tap) hookFor(r *http.Request, body []byte) Hook {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[r.Method+" "+r.URL.Path]++
	for _, id := range slices.Sorted(maps.Keys(t.hooks)) {
		if h := t.hooks[id]; h.match(r, body) {
			return h.hook
		}
	}
	return func(forward func() int) bool { return forward() != 0 }
}

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
	hook := t.hookFor(r, body)
	ctx := r.Context()
	if r.Method != http.MethodGet {
		ctx = t.life // a change is carried on even if its sender is killed meanwhile: it has been sent
	}
	var answer Answer
	forward := func() int { answer = t.forward(ctx, r, t.to(), body); return answer.Status }
	if !hook(forward) || answer.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	t.remember(answer)
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
}

// remember keeps what a refusal says.
func (t *Tap) remember(a Answer) {
	if a.Status < http.StatusBadRequest {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = a.Header.Write(&t.no) // a buffer takes everything
	_, _ = t.no.Write(append(a.Body, '\n'))
}

// Refusals are the headers and bodies of all refusals that passed so far.
func (t *Tap) Refusals() string { t.mu.Lock(); defer t.mu.Unlock(); return t.no.String() }

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
