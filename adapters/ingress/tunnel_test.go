package ingress_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"berth/adapters/ingress"
)

const (
	upgrade  = "GET /internal/v1/live HTTP/1.1\r\nHost: berth\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\nBerth-Ingress-Assertion: forged\r\n\r\n"
	switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: a\r\nBerth-Ingress-Assertion: back\r\n\r\n"
)

// echoes switches protocols, says hello, and then sends back whatever comes.
func echoes(b net.Conn, _ arrived) bool {
	_, _ = io.WriteString(b, switched+"hello")
	_, _ = io.Copy(b, b)
	return false
}

// tunnel opens a tunnel, through which it has sent a message already.
func (w *world) tunnel() *client {
	w.tb.Helper()
	c := w.as("n1")
	c.write(upgrade + "early ")              // a client may not wait for the answer
	resp, err := http.ReadResponse(c.r, nil) //nolint:bodyclose // it has none
	must(w.tb, err)
	if resp.StatusCode != 101 || resp.Header.Get("Sec-Websocket-Accept") != "a" || resp.Header.Get("Berth-Ingress-Assertion") != "" ||
		!strings.EqualFold(resp.Header.Get("Upgrade"), "websocket") {
		w.tb.Fatalf("answered %v", resp)
	}
	c.write("late")
	got := make([]byte, len("helloearly late"))
	if _, err := io.ReadFull(c.r, got); err != nil || string(got) != "helloearly late" {
		w.tb.Fatalf("through the tunnel came %q %v", got, err)
	}
	return c
}

// A WebSocket is joined both ways, with an assertion as any other request, and each end ends the other.
func TestTunnel(t *testing.T) {
	t.Parallel()
	w := start(t)
	ended := make(chan struct{})
	w.back.answers(func(b net.Conn, a arrived) bool {
		defer close(ended)
		return echoes(b, a)
	})
	c := w.tunnel()
	got := w.back.one()
	if _, err := w.proven(got); err != nil || got.Header.Get("Sec-Websocket-Key") != "k" || !strings.EqualFold(got.Header.Get("Upgrade"), "websocket") {
		t.Fatalf("arrived %q: %v", got.raw, err)
	}
	if w.count("berth_ingress_tunnels") != 1 {
		t.Error("the tunnel is not counted")
	}
	long := strings.Repeat("x", 1<<20)
	go func() { _, _ = io.WriteString(c.Conn, long) }()
	back := make([]byte, len(long))
	if _, err := io.ReadFull(c.r, back); err != nil || string(back) != long {
		t.Fatal("a mebibyte did not come back")
	}
	_ = c.Close()
	<-ended
	eventually(t, "the tunnel is forgotten", func() bool { return w.count("berth_ingress_tunnels") == 0 })
	w.back.answers(func(b net.Conn, _ arrived) bool {
		_, _ = io.WriteString(b, switched)
		return false
	})
	c = w.as("n1")
	c.write(upgrade)
	if _, err := http.ReadResponse(c.r, nil); err != nil || !c.closed() { //nolint:bodyclose // it has none
		t.Errorf("the control plane's end did not end the tunnel: %v", err)
	}
}

// A control plane that does not switch answers as ever, on a connection that goes on; one that switches to something else
// is not believed.
func TestTunnelRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.back.answers(says("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"))
	c := w.as("n1")
	for range 2 {
		if a := c.ask(upgrade); a.StatusCode != 404 || a.text != "none" {
			t.Fatalf("answered %d %s", a.StatusCode, a.text)
		}
	}
	w.back.answers(says(strings.ReplaceAll(switched, "websocket", "h2c")))
	if a := c.ask(upgrade); a.StatusCode != 502 || a.slug() != "upstream_malformed" {
		t.Fatalf("answered %d %s", a.StatusCode, a.text)
	}
}

// A tunnel in which something moves is not taken for idle.
func TestTunnelInUse(t *testing.T) {
	t.Parallel()
	const idle = time.Second
	w := start(t, func(_ *world, o *ingress.Options) { o.Limits.TunnelIdle = idle })
	w.back.answers(echoes)
	c := w.tunnel()
	ticks := time.NewTicker(idle / 100)
	defer ticks.Stop()
	for began := time.Now(); time.Since(began) < 3*idle; <-ticks.C {
		c.write("x")
		if _, err := c.r.ReadByte(); err != nil {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
	}
}

// ends waits until a connection ends.
func ends(t *testing.T, c *client) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, c.r); isTimeout(err) {
		t.Error("the connection lives on")
	}
}

// A tunnel ends when its certificate does, when its root leaves the bundle, when nothing moves in it, and when the ingress
// stops; a stop does not wait for it.
func TestTunnelEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *world){
		"certificate": func(_ *testing.T, w *world) { w.clock.shift(time.Hour + time.Minute) },
		"root": func(t *testing.T, w *world) {
			_, err := w.trust.Set(newAuthority(t, "next").pem())
			must(t, err)
		},
		"stop": func(t *testing.T, w *world) {
			w.stop()
			must(t, <-w.done)
			w.done <- nil
		},
		"silence": func(*testing.T, *world) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, func(_ *world, o *ingress.Options) {
				if name == "silence" {
					o.Limits.TunnelIdle = 50 * time.Millisecond
				}
			})
			w.back.answers(echoes)
			c := w.tunnel()
			end(t, w)
			ends(t, c)
			eventually(t, "both sides are let go", func() bool { w.back.mu.Lock(); defer w.back.mu.Unlock(); return len(w.back.conns) == 0 })
		})
	}
}
