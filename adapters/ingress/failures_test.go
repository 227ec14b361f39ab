package ingress_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/ingress"
	"berth/adapters/ingress/upstream"
)

// A control plane that can not be reached got nothing: the node is told so, and when to ask again. It is found again by
// itself.
func TestUpstreamAway(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	w.back.close()
	for range 2 {
		a := c.ask(post("{}", "Content-Length: 2"))
		if a.StatusCode != 503 || a.slug() != "upstream_unreachable" || a.Header.Get("Retry-After") != "1" {
			t.Fatalf("answered %v %s", a.Response, a.text)
		}
	}
	w.back.listen()
	if a := c.ask(post("{}", "Content-Length: 2")); a.StatusCode != 200 {
		t.Fatalf("answered %d", a.StatusCode)
	}
	if w.count("berth_ingress_upstream_failures_total", "upstream_unreachable") != 2 {
		t.Error("it was not counted")
	}
}

// A request that may have reached the control plane is never sent twice, whatever method, Idempotency-Key or state of the
// connection would make net/http's Transport do so. Its outcome is told as open, and asking again is recommended only
// where nothing can have changed.
func TestNothingIsRepeated(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		says string
		slug string
	}{
		"silence":         {"", "upstream_broken"},
		"half a head":     {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "upstream_broken"},
		"half a line":     {"HTTP/1.1 200 OK\r\nContent-Le", "upstream_malformed"},
		"half a body":     {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "upstream_broken"},
		"half a chunk":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "upstream_broken"},
		"garbage":         {"hello\r\n\r\n", "upstream_malformed"},
		"HTTP/1.0":        {"HTTP/1.0 200 OK\r\n\r\nhello", "upstream_malformed"},
		"HTTP/1.0, whole": {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "upstream_malformed"},
		"space in name":   {"HTTP/1.1 200 OK\r\nSet-Cookie : a\r\nA B: c\r\nContent-Length: 0\r\n\r\n", "upstream_malformed"},
		"no length":       {"HTTP/1.1 200 OK\r\n\r\nhello", "upstream_malformed"},
		"CR in header":    {"HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: c\r\nContent-Length: 0\r\n\r\n", "upstream_malformed"},
		"NUL in header":   {"HTTP/1.1 200 OK\r\nA: b\x00c\r\nContent-Length: 0\r\n\r\n", "upstream_malformed"},
		"two lengths":     {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "upstream_malformed"},
		"long header":     {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 100_000) + "\r\nContent-Length: 0\r\n\r\n", "upstream_malformed"},
		"unasked 101":     {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "upstream_malformed"},
		"status 700":      {"HTTP/1.1 700 Odd\r\nContent-Length: 0\r\n\r\n", "upstream_malformed"},
	} {
		for _, ask := range []string{get, post("{}", "Content-Length: 2", "Idempotency-Key: k"), request("X-Idempotency-Key: k"), poll} {
			for _, reused := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, reused %v", name, ask[:4], reused), func(t *testing.T) {
					t.Parallel()
					w := start(t)
					c := w.as("n1")
					want := 1
					if reused {
						c.ask(get)
						want = 2
					}
					w.back.answers(func(b net.Conn, _ arrived) bool {
						_, _ = io.WriteString(b, broken.says)
						return false
					})
					a := c.ask(ask)
					if a.StatusCode != 502 || a.slug() != broken.slug || (a.Header.Get("Retry-After") != "") != (ask[:3] == "GET" || ask == poll) {
						t.Errorf("answered %d %v %s", a.StatusCode, a.Header, a.text)
					}
					if n := len(w.back.all()); n != want {
						t.Errorf("%d requests arrived", n)
					}
					w.back.answers(says(plain))
					if a := c.ask(get); a.StatusCode != 200 {
						t.Errorf("then answered %d", a.StatusCode)
					}
				})
			}
		}
	}
}

// A connection that the control plane closed while nothing was asked is not used, so that its closing costs no request.
func TestStaleConnectionsAreNotUsed(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	closing := make(chan struct{})
	w.back.answers(func(b net.Conn, _ arrived) bool {
		_, _ = io.WriteString(b, plain)
		_ = b.Close()
		closing <- struct{}{}
		return false
	})
	for range 10 {
		c.write(post("{}", "Content-Length: 2"))
		<-closing
		if a, err := c.read(); err != nil || a.StatusCode != 200 {
			t.Fatalf("answered %v %v", a.Response, err)
		}
	}
}

// A control plane that is too slow is answered for in time, as open; an answer that breaks off after it began is broken off
// for the client, who does not take it for whole.
func TestUpstreamSlowAndTorn(t *testing.T) {
	t.Parallel()
	w := start(t, func(w *world, o *ingress.Options) {
		o.Upstream = upstream.New(upstream.Options{Timeout: 100 * time.Millisecond, Stall: 100 * time.Millisecond, Endpoints: []upstream.Endpoint{w.back.endpoint()}})
	})
	back := w.back
	c := w.as("n1")
	held := make(chan struct{})
	back.answers(func(net.Conn, arrived) bool { <-held; return false })
	a := c.ask(post("{}", "Content-Length: 2"))
	if a.StatusCode != 504 || a.slug() != "upstream_timeout" || a.Header.Get("Retry-After") != "" {
		t.Errorf("answered %d %s", a.StatusCode, a.text)
	}
	back.answers(func(b net.Conn, _ arrived) bool {
		_, _ = io.WriteString(b, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 50_000))
		<-held
		return false
	})
	c.write(get)
	if a, err := c.read(); err == nil || len(a.text) != 0 && len(a.text) == 100_000 {
		t.Errorf("a torn answer was taken for whole: %d bytes, %v", len(a.text), err)
	}
	c = w.as("n1")
	back.answers(func(b net.Conn, _ arrived) bool {
		_, _ = io.WriteString(b, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
		return false
	})
	c.write(get)
	if _, err := c.read(); err == nil {
		t.Error("a torn chunked answer was taken for whole")
	}
	close(held)
}

// Interim answers are not taken for the answer, and are not without bound.
func TestInterimAnswers(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	interim := "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	w.back.answers(says(interim + plain))
	for range 2 {
		if a := c.ask(get); a.StatusCode != 200 || a.text != "ok" || a.Header.Get("Link") != "" {
			t.Fatalf("answered %d %q", a.StatusCode, a.text)
		}
	}
	w.back.answers(says(strings.Repeat(interim, 10)))
	if a := c.ask(get); a.StatusCode != 502 || a.slug() != "upstream_malformed" {
		t.Fatalf("answered %d %s", a.StatusCode, a.text)
	}
}

// Answers without a body leave the connections to both sides good.
func TestAnswersWithoutBody(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	w.back.answers(func(b net.Conn, a arrived) bool {
		switch a.Method {
		case "HEAD":
			_, _ = io.WriteString(b, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
		case "DELETE":
			_, _ = io.WriteString(b, "HTTP/1.1 204 No Content\r\n\r\n")
		default:
			_, _ = io.WriteString(b, "HTTP/1.1 304 Not Modified\r\nETag: \"5\"\r\n\r\n")
		}
		return true
	})
	for range 3 {
		c.write("HEAD /internal/v1/x HTTP/1.1\r\nHost: berth\r\n\r\n")
		head := make([]byte, 4096)
		n, err := c.r.Read(head)
		if text := string(head[:n]); err != nil || !strings.HasPrefix(text, "HTTP/1.1 200") || !strings.Contains(text, "Content-Length: 1000\r\n") {
			t.Fatalf("HEAD: %q %v", text, err)
		}
		if a := c.ask("DELETE /internal/v1/x HTTP/1.1\r\nHost: berth\r\n\r\n"); a.StatusCode != 204 {
			t.Fatalf("DELETE: %d", a.StatusCode)
		}
		if a := c.ask(request(`If-None-Match: "5"`)); a.StatusCode != 304 || a.Header.Get("Etag") != `"5"` {
			t.Fatalf("conditional: %d", a.StatusCode)
		}
	}
	if n := len(w.back.all()); n != 9 {
		t.Errorf("%d arrived", n)
	}
}

// Expect: 100-continue is answered before the body comes, and refused where the body is not wanted.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	c.write("POST /internal/v1/x HTTP/1.1\r\nHost: berth\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	line, err := c.r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("got %q %v", line, err)
	}
	if _, err := c.r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if a := c.ask("hello"); a.StatusCode != 200 || w.back.one().body != "hello" || strings.Contains(w.back.one().raw, "Expect") {
		t.Fatalf("answered %d, arrived %q", a.StatusCode, w.back.one().raw)
	}
	if a := c.ask("POST /internal/v1//x HTTP/1.1\r\nHost: berth\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"); a.StatusCode != 422 || !c.closed() {
		t.Errorf("answered %d", a.StatusCode)
	}
}

// A client that leaves while it waits frees what it held at the control plane.
func TestClientGone(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, ask := range []string{get, post("{}", "Content-Length: 2")} {
		c := w.as("n1")
		asked, left := make(chan struct{}), make(chan error, 1)
		w.back.answers(func(b net.Conn, _ arrived) bool {
			close(asked)
			_ = b.SetReadDeadline(time.Now().Add(patience))
			_, err := b.Read(make([]byte, 1))
			left <- err
			return false
		})
		c.write(ask)
		<-asked
		_ = c.Close()
		if err := <-left; err == nil || isTimeout(err) {
			t.Errorf("the control plane was not told: %v", err)
		}
	}
	eventually(t, "it is logged", func() bool { return strings.Count(w.log.String(), "slug=client_gone") == 2 })
}

// A client that closes its half while it waits is taken for gone, and is not told of a success that is none.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	asked := make(chan struct{})
	w.back.answers(func(b net.Conn, _ arrived) bool {
		close(asked)
		_, _ = b.Read(make([]byte, 1))
		return false
	})
	c.write(post("{}", "Content-Length: 2"))
	<-asked
	must(t, c.CloseWrite())
	if a, err := c.read(); err == nil {
		t.Errorf("answered %d", a.StatusCode)
	}
}

// A replica that does not answer is tried once in a while only, so that it does not cost each request its time.
func TestReplicaIsLeftOut(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var dialled atomic.Int64
	var accepting sync.WaitGroup
	t.Cleanup(func() { _ = mute.Close(); accepting.Wait() })
	accepting.Go(func() {
		for {
			c, err := mute.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			dialled.Add(1)
		}
	})
	w := start(t, func(w *world, o *ingress.Options) {
		o.Upstream = upstream.New(upstream.Options{
			DialTimeout: 50 * time.Millisecond, Leave: time.Hour,
			Endpoints: []upstream.Endpoint{w.back.endpoint(), {Network: "tcp", Address: mute.Addr().String(), Secure: true}},
		})
	})
	c := w.as("n1")
	for range 10 {
		if a := c.ask(post("{}", "Content-Length: 2")); a.StatusCode != 200 {
			t.Fatalf("answered %d %s", a.StatusCode, a.text)
		}
	}
	if n := dialled.Load(); n != 1 {
		t.Errorf("it was tried %d times", n)
	}
}

// A replica that is away is left out; the others answer, and each gets its share.
func TestSeveralReplicas(t *testing.T) {
	t.Parallel()
	var second *backend
	w := start(t, func(w *world, o *ingress.Options) {
		second = newBackend(t, w)
		o.Upstream = upstream.New(upstream.Options{Endpoints: []upstream.Endpoint{
			w.back.endpoint(), second.endpoint(), {Network: "unix", Address: shortDir(t) + "/none"},
		}})
	})
	c := w.as("n1")
	for range 20 {
		if a := c.ask(post("{}", "Content-Length: 2")); a.StatusCode != 200 {
			t.Fatalf("answered %d %s", a.StatusCode, a.text)
		}
	}
	if a, b := len(w.back.all()), len(second.all()); a+b != 20 || a < 5 || b < 5 {
		t.Errorf("one got %d, the other %d", a, b)
	}
	w.back.close()
	for range 20 {
		if a := c.ask(post("{}", "Content-Length: 2")); a.StatusCode != 200 {
			t.Fatalf("with one left: answered %d %s", a.StatusCode, a.text)
		}
	}
}
