package ingress_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/ingress"
)

// A node that asks too often is refused until its rate allows for more, over whatever connection, and no other node pays.
func TestNodeRate(t *testing.T) {
	t.Parallel()
	w := start(t, func(_ *world, o *ingress.Options) { o.Limits.NodeRate, o.Limits.NodeBurst = 0.001, 5 })
	c := w.as("n1")
	for range 5 {
		if a := c.ask(get); a.StatusCode != 200 {
			t.Fatalf("answered %d", a.StatusCode)
		}
	}
	_ = w.as("n1").Close()
	for _, over := range []*client{c, w.as("n1")} {
		if a := over.ask(post("{}", "Content-Length: 2")); a.StatusCode != 429 || a.slug() != "rate_limited" || a.Header.Get("Retry-After") == "" {
			t.Errorf("answered %d %s", a.StatusCode, a.text)
		}
		if a := over.ask(get); a.StatusCode != 429 {
			t.Errorf("the connection is spoiled: %d", a.StatusCode)
		}
	}
	if a := w.as("n2").ask(get); a.StatusCode != 200 {
		t.Errorf("another node is answered %d", a.StatusCode)
	}
	if n := len(w.back.all()); n != 6 {
		t.Errorf("%d were passed on", n)
	}
}

// A node at its bound of connections loses the one that was idle for longest, and no connection that works; when all do,
// the new one is refused.
func TestConnectionsPerNode(t *testing.T) {
	t.Parallel()
	w := start(t, func(_ *world, o *ingress.Options) { o.Limits.ConnectionsPerNode = 3 })
	var held []*client
	asked, release := make(chan struct{}, 3), make(chan struct{})
	w.back.answers(func(b net.Conn, _ arrived) bool {
		asked <- struct{}{}
		<-release
		_, err := io.WriteString(b, plain)
		return err == nil
	})
	idle := w.as("n1")
	for range 3 {
		c := w.as("n1")
		c.write(get)
		<-asked
		held = append(held, c)
	}
	ends(t, idle)
	if !w.refused(w.client("n1")) {
		t.Error("a fourth connection is served")
	}
	if w.count("berth_ingress_handshake_failures_total", "node_connections_exhausted") != 1 {
		t.Error("it is not counted")
	}
	other := w.as("n2")
	other.write(get)
	<-asked
	close(release)
	for _, c := range append(held, other) {
		if a, err := c.read(); err != nil || a.StatusCode != 200 {
			t.Errorf("answered %v %v", a.Response, err)
		}
	}
}

// Connections are bounded in all, and a place that is left is taken again.
func TestConnectionsInAll(t *testing.T) {
	t.Parallel()
	w := start(t, func(_ *world, o *ingress.Options) { o.Limits.Connections = 2 })
	first, second := w.as("n1"), w.as("n2")
	first.ask(get)
	second.ask(get)
	if !w.refused(w.client("n3")) {
		t.Error("a third connection is served")
	}
	_ = first.Close()
	eventually(t, "a place is free", func() bool { return w.count("berth_ingress_connections") == 1 })
	if a := w.as("n3").ask(get); a.StatusCode != 200 {
		t.Errorf("answered %d", a.StatusCode)
	}
	if w.count("berth_ingress_handshake_failures_total", "connections_exhausted") != 1 {
		t.Error("it is not counted")
	}
}

// Who connects and says nothing, or says it slowly, is cut off in time, and when there are many such the oldest makes way:
// an honest client gets through while all places for handshakes are taken.
func TestSlowHandshakes(t *testing.T) {
	t.Parallel()
	w := start(t, func(_ *world, o *ingress.Options) { o.Limits.Handshakes, o.Limits.HandshakeTimeout = 4, time.Minute })
	var silent []net.Conn
	for range 4 {
		c, err := net.Dial("tcp", w.addr)
		must(t, err)
		defer c.Close()
		silent = append(silent, c)
	}
	eventually(t, "all places are taken", func() bool { return w.count("berth_ingress_connections") == 4 })
	if a := w.as("n1").ask(get); a.StatusCode != 200 {
		t.Errorf("answered %d", a.StatusCode)
	}
	if !cutOff(silent[0]) {
		t.Error("the oldest is still there")
	}
	timed := start(t, func(_ *world, o *ingress.Options) { o.Limits.HandshakeTimeout = 20 * time.Millisecond })
	c, err := net.Dial("tcp", timed.addr)
	must(t, err)
	defer c.Close()
	_, _ = c.Write([]byte{0x16, 0x03, 0x01, 0x02, 0x00}) // the beginning of a hello
	if !cutOff(c) {
		t.Error("a handshake has no end")
	}
	eventually(t, "it is counted", func() bool { return timed.count("berth_ingress_handshake_failures_total", "handshake_timeout") == 1 })
}

// cutOff waits until the other side ends a connection.
func cutOff(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	_, err := io.ReadAll(c)
	return err == nil || errors.Is(err, syscall.ECONNRESET)
}

// Who sends a header or a body slowly is cut off in time; a body that does not come is said to be missing, and one that is
// shorter than it was declared is not passed on.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	w := start(t, func(_ *world, o *ingress.Options) {
		o.Limits.HeaderTimeout, o.Limits.BodyTimeout, o.Limits.IdleTimeout = 50*time.Millisecond, 50*time.Millisecond, time.Minute
	})
	c := w.as("n1")
	c.write("GET /internal/v1/peers HTTP/1.1\r\nHost: be")
	ends(t, c)
	c = w.as("n1")
	c.write("POST /internal/v1/x HTTP/1.1\r\nHost: berth\r\nContent-Length: 5\r\n\r\nhal")
	if a, err := c.read(); err != nil || a.StatusCode != 408 || a.slug() != "body_too_slow" || !c.closed() {
		t.Errorf("answered %v %v %s", a.Response, err, a.text)
	}
	c = w.as("n1")
	c.write("POST /internal/v1/x HTTP/1.1\r\nHost: berth\r\nContent-Length: 5\r\n\r\nhal")
	must(t, c.CloseWrite())
	if a, err := c.read(); err == nil && (a.StatusCode != 400 || a.slug() != "body_unreadable") {
		t.Errorf("answered %v %s", a.Response, a.text)
	}
	if n := len(w.back.all()); n != 0 {
		t.Errorf("%d were passed on", n)
	}
}

// No timeout on reading cuts a long poll short, nor spoils its connection for what comes after.
func TestLongPollsOutliveTimeouts(t *testing.T) {
	t.Parallel()
	w := start(t, func(_ *world, o *ingress.Options) {
		o.Limits.HeaderTimeout, o.Limits.BodyTimeout, o.Limits.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	})
	w.back.answers(func(b net.Conn, _ arrived) bool {
		<-time.After(300 * time.Millisecond)
		_, err := io.WriteString(b, plain)
		return err == nil
	})
	c := w.as("n1")
	for _, ask := range []string{get, post("{}", "Content-Length: 2"), get} {
		if a := c.ask(ask); a.StatusCode != 200 {
			t.Fatalf("answered %d %s", a.StatusCode, a.text)
		}
	}
}

// A client that reads nothing of its answer costs a bounded amount of memory for a bounded time.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	w := start(t, func(_ *world, o *ingress.Options) { o.Limits.WriteTimeout = 100 * time.Millisecond })
	ended := make(chan int, 1)
	w.back.answers(func(b net.Conn, _ arrived) bool {
		sent, _ := fmt.Fprintf(b, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", 1<<30)
		chunk := make([]byte, 64<<10)
		for {
			n, err := b.Write(chunk)
			sent += n
			if err != nil {
				ended <- sent
				return false
			}
		}
	})
	c := w.as("n1")
	c.write(get)
	select {
	case sent := <-ended:
		if sent > 64<<20 {
			t.Errorf("%d bytes were taken for a client that reads nothing", sent)
		}
	case <-time.After(patience):
		t.Error("it goes on for ever")
	}
}

// The longest body passes, and is asserted; bodies are bounded in all by what arrived of them and not by what was
// declared, and what they held is given back.
func TestBodies(t *testing.T) {
	t.Parallel()
	w := start(t, func(_ *world, o *ingress.Options) { o.Limits.BodyMemory = contract.MaxBody + 100<<10 })
	long := strings.Repeat("0123456789abcdef", contract.MaxBody/16)
	send := func(c *client, size int) {
		c.write(post(long[:size], fmt.Sprintf("Content-Length: %d", contract.MaxBody)))
	}
	c := w.as("n1")
	send(c, len(long))
	a, err := c.read()
	if err != nil || a.StatusCode != 200 {
		t.Fatalf("answered %v %v", a.Response, err)
	}
	if _, err := w.proven(w.back.one()); err != nil || w.back.one().body != long {
		t.Fatalf("the body is not what was sent: %v", err)
	}
	slow := make([]*client, 4) // each declares a mebibyte
	for i := range slow {
		slow[i] = w.as("n2")
		send(slow[i], 1000)
	}
	eventually(t, "they are being read", func() bool { return w.count("berth_ingress_body_bytes") > 60<<10 })
	send(c, len(long))
	if a, err := c.read(); err != nil || a.StatusCode != 200 {
		t.Errorf("beside slow ones: answered %v %v %s", a.Response, err, a.text)
	}
	held, asked := make(chan struct{}), make(chan struct{})
	w.back.answers(func(b net.Conn, _ arrived) bool {
		asked <- struct{}{}
		<-held
		_, err := io.WriteString(b, plain)
		return err == nil
	})
	send(c, len(long))
	<-asked
	other := w.as("n3")
	_, _ = io.WriteString(other.Conn, post(long[:500<<10], "Content-Length: 512000"))
	if a, err := other.read(); err != nil || a.StatusCode != 503 || a.slug() != "body_memory_exhausted" || a.Header.Get("Retry-After") != "1" {
		t.Errorf("one too many: answered %v %v %s", a.Response, err, a.text)
	}
	close(held)
	if a, err := c.read(); err != nil || a.StatusCode != 200 {
		t.Errorf("answered %v %v", a.Response, err)
	}
	for _, s := range slow {
		_ = s.Close()
	}
	eventually(t, "all is given back", func() bool { return w.count("berth_ingress_body_bytes") == 0 })
}

// What one node holds in bodies leaves room for the others, and is its own again once it is answered.
func TestBodiesOfOneNode(t *testing.T) {
	t.Parallel()
	w := start(t, func(_ *world, o *ingress.Options) {
		o.Limits.BodyMemory, o.Limits.BodyMemoryPerNode = 200<<10, 100<<10
	})
	greedy, again, other := w.as("n1"), w.as("n1"), w.as("n2")
	held, asked := make(chan struct{}), make(chan struct{}, 3)
	w.back.answers(func(b net.Conn, _ arrived) bool {
		asked <- struct{}{}
		<-held
		_, err := io.WriteString(b, plain)
		return err == nil
	})
	body := post(strings.Repeat("x", 90<<10), "Content-Length: 92160")
	greedy.write(body)
	<-asked
	_, _ = io.WriteString(again.Conn, body)
	if a, err := again.read(); err != nil || a.StatusCode != 429 || a.slug() != "node_body_memory_exhausted" {
		t.Errorf("the node's next body: answered %v %s", err, a.text)
	}
	other.write(body)
	<-asked
	close(held)
	for _, c := range []*client{greedy, other} {
		if a, err := c.read(); err != nil || a.StatusCode != 200 {
			t.Errorf("answered %v %s", err, a.text)
		}
	}
	if a := greedy.ask(body); a.StatusCode != 200 {
		t.Errorf("once all was answered: %d %s", a.StatusCode, a.text)
	}
}

// A server certificate that was renewed is shown to whoever connects next.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	var current = make(chan *tls.Certificate, 1)
	w := start(t, func(w *world, o *ingress.Options) {
		current <- o.Certificate()
		o.Certificate = func() *tls.Certificate { c := <-current; current <- c; return c }
	})
	serial := func() string { return w.as("n1").ConnectionState().PeerCertificates[0].SerialNumber.String() }
	before := serial()
	<-current
	current <- w.ca.issue(t, serverTemplate())
	if serial() == before {
		t.Error("the old certificate is still shown")
	}
}
