package upstream_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"berth/adapters/ingress/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// replica is a control plane that keeps what it gets byte for byte, and answers as a test says.
type replica struct {
	t       *testing.T
	network string
	path    string
	secure  *tls.Config
	working sync.WaitGroup

	mu    sync.Mutex
	l     net.Listener
	conns map[net.Conn]bool
	made  int
	seen  []string
	reply func(net.Conn) bool // false closes the connection
	left  chan struct{}       // a connection was closed
}

const good = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func says(text string, goesOn bool) func(net.Conn) bool {
	return func(c net.Conn) bool {
		_, err := io.WriteString(c, text)
		return err == nil && goesOn
	}
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	dir, err := os.MkdirTemp("", "u")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &replica{
		t: t, network: "unix", path: filepath.Join(dir, "s"), conns: map[net.Conn]bool{}, reply: says(good, true), left: make(chan struct{}, 100),
	}
	r.up()
	t.Cleanup(r.down)
	return r
}

// overTCP has the replica listen on TCP from now on, where a write to whoever has gone may succeed.
func (r *replica) overTCP() {
	r.t.Helper()
	r.down()
	r.network, r.path = "tcp", "127.0.0.1:0"
	r.up()
}

func (r *replica) endpoint() upstream.Endpoint {
	return upstream.Endpoint{Network: r.network, Address: r.path, Secure: r.secure != nil}
}

func (r *replica) up() {
	r.t.Helper()
	l, err := net.Listen(r.network, r.path)
	must(r.t, err)
	r.mu.Lock()
	r.l, r.path = l, l.Addr().String()
	r.mu.Unlock()
	r.working.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r.secure != nil {
				c = tls.Server(c, r.secure)
			}
			r.mu.Lock()
			r.conns[c], r.made = true, r.made+1
			r.mu.Unlock()
			r.working.Go(func() { r.serve(c) })
		}
	})
}

func (r *replica) down() {
	r.mu.Lock()
	_ = r.l.Close()
	for c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.working.Wait()
}

func (r *replica) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		r.mu.Lock()
		delete(r.conns, c)
		r.mu.Unlock()
		r.left <- struct{}{}
	}()
	for in := bufio.NewReader(c); ; {
		text, err := next(in)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.seen = append(r.seen, text)
		reply := r.reply
		r.mu.Unlock()
		if !reply(c) {
			return
		}
	}
}

// next is one request, head and body.
func next(in *bufio.Reader) (string, error) {
	var text strings.Builder
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		text.WriteString(line)
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		}
		if line == "\r\n" {
			break
		}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(in, body)
	return text.String() + string(body), err
}

func (r *replica) answers(reply func(net.Conn) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply = reply
}

// all is what arrived, and over how many connections.
func (r *replica) all() (seen []string, made int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(seen, r.seen...), r.made
}

func open(t *testing.T, o upstream.Options, replicas ...*replica) *upstream.Upstream {
	t.Helper()
	for _, r := range replicas {
		o.Endpoints = append(o.Endpoints, r.endpoint())
	}
	u := upstream.New(o)
	t.Cleanup(u.Close)
	return u
}

func read() *upstream.Request {
	return &upstream.Request{Method: "GET", Target: "/internal/v1/peers", Host: "berth"}
}

func write() *upstream.Request {
	return &upstream.Request{
		Method: "POST", Target: "/internal/v1/x", Host: "berth", Fields: []upstream.Field{{Name: "Idempotency-Key", Value: "k"}}, Body: []byte("{}"),
	}
}

// ask sends a request and reads its answer to its end.
func ask(t *testing.T, u *upstream.Upstream, q *upstream.Request) (string, error) {
	t.Helper()
	a, err := u.Do(t.Context(), q)
	if err != nil {
		return "", err
	}
	defer a.Close()
	text, err := io.ReadAll(a)
	return string(text), err
}

func wantFate(t *testing.T, what string, err error, want upstream.Fate) {
	t.Helper()
	failed, ok := errors.AsType[*upstream.Error](err)
	if !ok || failed.Fate != want {
		t.Errorf("%s: %v, want fate %d", what, err, want)
	}
}

const patience = 10 * time.Second

// gone waits until the replica has lost a connection.
func (r *replica) gone() {
	r.t.Helper()
	select {
	case <-r.left:
	case <-time.After(patience):
		r.t.Fatal("no connection was closed")
	}
}
