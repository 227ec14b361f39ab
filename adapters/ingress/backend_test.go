package ingress_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/ingress/upstream"
	"berth/domain/identity"
)

// arrived is one request as the control plane got it.
type arrived struct {
	raw  string // the head, byte for byte
	body string
	*http.Request
}

// target is what stands in the request line.
func (a arrived) target() string { return strings.Fields(a.raw)[1] }

// assertions are the values of every line that any program might take for an assertion.
func (a arrived) assertions() (values []string) {
	for line := range strings.Lines(a.raw) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if ok && strings.EqualFold(strings.ReplaceAll(name, "_", "-"), contract.HeaderAssertion) {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}

// backend is a stub of the control plane: it keeps what it gets, and answers as a test says.
type backend struct {
	w       *world
	path    string
	l       net.Listener
	working sync.WaitGroup

	mu    sync.Mutex
	seen  []arrived
	conns map[net.Conn]struct{}
	reply func(net.Conn, arrived) bool // false closes the connection
	odd   string                       // what came that is no request
}

// forget makes as if nothing had arrived yet.
func (b *backend) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = nil
}

// torn is what arrived that is no request.
func (b *backend) torn() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.odd
}

const plain = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Request-Id: req_back\r\n\r\nok"

// says answers with fixed bytes.
func says(text string) func(net.Conn, arrived) bool {
	return func(c net.Conn, _ arrived) bool {
		_, err := io.WriteString(c, text)
		return err == nil
	}
}

func newBackend(tb testing.TB, w *world) *backend {
	b := &backend{w: w, path: shortDir(tb) + "/s", conns: map[net.Conn]struct{}{}, reply: says(plain)}
	b.listen()
	tb.Cleanup(b.close)
	return b
}

func (b *backend) endpoint() upstream.Endpoint {
	return upstream.Endpoint{Network: "unix", Address: b.path}
}

func (b *backend) listen() {
	l, err := net.Listen("unix", b.path)
	must(b.w.tb, err)
	b.mu.Lock()
	b.l = l
	b.mu.Unlock()
	b.working.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns[c] = struct{}{}
			b.mu.Unlock()
			b.working.Go(func() { b.serve(c) })
		}
	})
}

// close ends the listener and every connection.
func (b *backend) close() {
	b.mu.Lock()
	_ = b.l.Close()
	for c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.working.Wait()
}

func (b *backend) answers(f func(net.Conn, arrived) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reply = f
}

func (b *backend) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		b.mu.Lock()
		delete(b.conns, c)
		b.mu.Unlock()
	}()
	r := bufio.NewReader(c)
	for {
		a, err := readArrived(r)
		if err != nil {
			if a.raw != "" {
				b.mu.Lock()
				b.odd = a.raw
				b.mu.Unlock()
			}
			return
		}
		b.mu.Lock()
		b.seen = append(b.seen, a)
		reply := b.reply
		b.mu.Unlock()
		if !reply(c, a) {
			return
		}
	}
}

func readArrived(r *bufio.Reader) (arrived, error) {
	var head bytes.Buffer
	for !bytes.HasSuffix(head.Bytes(), []byte("\r\n\r\n")) {
		line, err := r.ReadBytes('\n')
		head.Write(line)
		if err != nil {
			return arrived{raw: head.String()}, err
		}
	}
	a := arrived{raw: head.String()}
	request, err := http.ReadRequest(bufio.NewReader(io.MultiReader(&head, r)))
	if err != nil {
		return a, err
	}
	defer request.Body.Close()
	body, err := io.ReadAll(request.Body)
	a.Request, a.body = request, string(body)
	return a, err
}

// all is what arrived so far.
func (b *backend) all() []arrived {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]arrived(nil), b.seen...)
}

// one is the only request that arrived.
func (b *backend) one() arrived {
	b.w.tb.Helper()
	all := b.all()
	if len(all) != 1 {
		b.w.tb.Fatalf("%d requests arrived", len(all))
	}
	return all[0]
}

// proven opens the assertion about a request that arrived, as the control plane does.
func (w *world) proven(a arrived) (identity.Assertion, error) {
	return identity.OpenAssertion(a.assertions(), w.getSecrets(), identity.Arrived{
		Method: a.Method, Target: a.target(), Host: a.Host, BodySHA256: sha256.Sum256([]byte(a.body)),
	}, w.clock.Now(), 5*time.Second)
}
