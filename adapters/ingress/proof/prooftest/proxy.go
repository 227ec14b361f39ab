package prooftest

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"berth/domain/identity"
)

// Leaks are what a terminator does wrong. The zero value is one that does all of it right.
type Leaks struct {
	KeepsAssertion   bool // passes on an assertion that the client sent, beside its own
	TrustsClient     bool // makes no assertion of its own where the client sent one
	ReadsUnderscores bool // strips the assertion's own spelling only, and takes _ for - behind that
	ObeysConnection  bool // takes away what Connection names, its own header among it
	NormalisesTarget bool // decodes and cleans the path, and asserts what came of it
	ForwardsCoding   bool // passes on a transfer coding, and believes the length
	ForwardsAny      bool // passes on whatever path, not only the nodes' API
	SkipsClientAuth  bool // takes any certificate at its word
	SkipsNames       bool // believes a CA, and reads the first URI of whatever it signed
	AssertsPath      bool // asserts the node that the path names
	Old              bool // speaks TLS 1.2
	Resumes          bool // takes up sessions again, with what was decided at their beginning
	NoBounds         bool // waits for ever and reads bodies of any size
}

// Proxy is a terminator in front of one upstream.
type Proxy struct {
	Leaks       Leaks
	Certificate tls.Certificate
	Roots       *x509.CertPool
	TrustDomain string
	Secret      identity.IngressSecret
	Dial        func() (net.Conn, error) // the upstream
	Slow        time.Duration            // what a head or a body may take
	PerNode     int                      // connections of one node; 0: any number

	mu      sync.Mutex
	idle    []*upstream
	conns   map[net.Conn]bool
	present map[string]int
	closed  bool
	serving sync.WaitGroup
}

// Serve takes connections until the listener is closed.
func (p *Proxy) Serve(l net.Listener) {
	p.conns, p.present = map[net.Conn]bool{}, map[string]int{}
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		p.serving.Go(func() { p.serve(conn) })
	}
}

// Close ends all connections and waits until they are gone.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close()
	}
	for _, u := range p.idle {
		_ = u.conn.Close()
	}
	p.mu.Unlock()
	p.serving.Wait()
}

// keep remembers a connection, to be closed with the proxy.
func (p *Proxy) keep(c net.Conn) (forget func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false
	}
	p.conns[c] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}, true
}

func (p *Proxy) serve(raw net.Conn) {
	defer raw.Close()
	forget, ok := p.keep(raw)
	if !ok {
		return
	}
	defer forget()
	conn := tls.Server(raw, p.config())
	p.bound(conn)
	if conn.HandshakeContext(context.Background()) != nil {
		return
	}
	peer := p.peer(conn.ConnectionState())
	if peer == nil || !p.enter(peer.id.Node()) {
		return
	}
	defer p.leave(peer.id.Node())
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		r, err := p.read(conn, in)
		if err == nil {
			err = p.forward(conn, r, peer)
		}
		if refused, ok := errors.AsType[refusal](err); ok {
			refused.write(conn)
		}
		if err != nil || r.last {
			_ = conn.CloseWrite()
			return
		}
	}
}

func (p *Proxy) bound(c net.Conn) {
	if !p.Leaks.NoBounds {
		_ = c.SetReadDeadline(time.Now().Add(p.Slow))
	}
}

func (p *Proxy) enter(node string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.PerNode > 0 && p.present[node] >= p.PerNode {
		return false
	}
	p.present[node]++
	return true
}

func (p *Proxy) leave(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.present[node]--
}

// refusal is an answer after which the connection ends.
type refusal struct {
	status int
	slug   string
}

func (r refusal) Error() string { return r.slug }

func (r refusal) write(w io.Writer) {
	body := fmt.Sprintf(`{"type":"urn:berth:problem:%s","status":%d}`, r.slug, r.status)
	fmt.Fprintf(w, "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		r.status, http.StatusText(r.status), len(body), body)
}

// upstream is a connection to the control plane that outlives a request.
type upstream struct {
	conn net.Conn
	in   *bufio.Reader
}

func (p *Proxy) take() (*upstream, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		u := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return u, nil
	}
	p.mu.Unlock()
	conn, err := p.Dial()
	if err != nil {
		return nil, err
	}
	return &upstream{conn, bufio.NewReader(conn)}, nil
}

func (p *Proxy) give(u *upstream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = u.conn.Close()
		return
	}
	p.idle = append(p.idle, u)
}
