package peering_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"berth/adapters/contract"
	"berth/adapters/peering"
)

// goaways reads until the connection ends, and returns the frames and the code of the close.
func goaways(tb testing.TB, c *websocket.Conn) (frames []contract.Frame, code websocket.StatusCode) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	for {
		_, data, err := c.Read(ctx)
		if err != nil {
			return frames, websocket.CloseStatus(err)
		}
		var f contract.Frame
		if json.Unmarshal(data, &f) == nil {
			frames = append(frames, f)
		}
	}
}

// The owner's goaway reaches the device as it is, and nothing is added to it.
func TestGoawayIsRelayed(t *testing.T) {
	t.Parallel()
	n, _ := between(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{contract.ConnectProtocol}})
		if err != nil {
			return
		}
		_ = c.Write(context.Background(), websocket.MessageText, []byte(`{"op":"goaway","reason":"moved","retry_after_ms":5}`))
		_ = c.Close(1012, "moved")
	})
	c, _, err := n.dial(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	frames, code := goaways(t, c)
	if len(frames) != 1 || frames[0].Reason != "moved" || frames[0].RetryAfterMS != 5 || code != 1012 {
		t.Fatalf("the device is told %+v, closed with %d", frames, code)
	}
}

// A device whose peer is lost, revoked, or whose list of peers is too old, is told to come back at a time of its own; so is one whose node
// stops.
func TestDeviceIsToldOfALostPeer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose   func(r *registry, n *near, o *owner)
		reason string
		code   websocket.StatusCode
	}{
		"the owner is revoked": {func(r *registry, _ *near, o *owner) { r.revoke(o.shown) }, "unavailable", 1013},
		"the near node is":     {func(r *registry, n *near, _ *owner) { r.revoke(n.shown) }, "unavailable", 1013},
		"the list is old":      {func(r *registry, _ *near, _ *owner) { r.change(func() { r.stale = true }) }, "unavailable", 1013},
		"the node stops":       {func(_ *registry, n *near, _ *owner) { n.stop() }, "shutdown", 1001},
		"the owner dies": {func(_ *registry, _ *near, o *owner) {
			done, cancel := context.WithCancel(context.Background())
			cancel()
			_ = o.listener.Shutdown(done)
		}, "unavailable", 1013},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &registry{}
			o := quick()
			o.URL = "wss://eu.test/connect/v1"
			own := r.owner(t, r.node("n1"), o, echo)
			n := r.near(t, r.node("n0"), o, own.route("n1"))
			retries := map[int64]bool{}
			var all []*websocket.Conn
			for range 5 {
				d, _, err := n.dial(t, nil)
				if err != nil {
					t.Fatal(err)
				}
				says(t, d, bytes.Repeat([]byte("x"), 700))
				all = append(all, d)
			}
			c.lose(r, n, own)
			for _, d := range all {
				frames, code := goaways(t, d)
				if len(frames) != 1 || frames[0].Op != "goaway" || frames[0].Reason != c.reason || frames[0].URL != o.URL || code != c.code {
					t.Fatalf("the device is told %+v, closed with %d", frames, code)
				}
				if ms := frames[0].RetryAfterMS; ms < 0 || ms >= 10_000 {
					t.Fatalf("it is to come back in %d ms", ms)
				}
				retries[frames[0].RetryAfterMS] = true
			}
			if len(retries) < 2 {
				t.Fatalf("all devices come back at once: %v", retries)
			}
			within(t, 5*time.Second, "nothing is left", func() bool { return n.links() == 0 && own.links() == 0 })
		})
	}
}

// In the middle of a frame nothing is put in: the device finds its connection broken off.
func TestNothingIsPutIntoAFrame(t *testing.T) {
	t.Parallel()
	n, o := between(t, func(w http.ResponseWriter, _ *http.Request) {
		c, from := switching(w, "\x81\x7e\x10\x00half of it")
		defer c.Close()
		_, _ = io.Copy(io.Discard, from)
	})
	c := n.raw(t)
	_, _ = io.WriteString(c, handshake)
	head(t, c)
	got := make([]byte, 14)
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatal(err)
	}
	o.all.revoke(o.shown)
	if rest, _ := io.ReadAll(c); len(rest) != 0 {
		t.Fatalf("%q was put into a frame", rest)
	}
}

// A device that does not read is not written to: of what the owner sends no more is taken than what is on its way, and nothing
// is held for it.
func TestWhoDoesNotReadIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Limits.StallTimeout = 300 * time.Millisecond
	device, ours := net.Pipe()
	peer, theirs := net.Pipe()
	self := issue(spiffe("n1"))
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{self.der}, PrivateKey: self.key}}, InsecureSkipVerify: true}
	up := tls.Client(peer, config)
	owner := tls.Server(theirs, config)
	go func() { _ = owner.Handshake() }()
	if err := up.Handshake(); err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int64
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		chunk := make([]byte, 4<<10)
		for {
			n, err := owner.Write(chunk)
			if err != nil {
				return
			}
			taken.Add(int64(n))
		}
	}()
	done := make(chan struct{})
	start := time.Now()
	go func() {
		defer close(done)
		peering.Join(peering.NewForwarder(o, nil), ours, up)
	}()
	<-done
	if took := time.Since(start); took < o.Limits.StallTimeout || took > 5*time.Second {
		t.Fatalf("it was cut after %v", took)
	}
	_ = owner.Close()
	<-sent
	if n := taken.Load(); n > 32<<10 {
		t.Fatalf("%d bytes were taken for a device that reads none", n)
	}
	if _, err := device.Read(make([]byte, 1)); err == nil {
		t.Fatal("the device is still connected")
	}
}

// What the owner answers instead of switching reaches the device.
func TestRefusedUpgradeIsRelayed(t *testing.T) {
	t.Parallel()
	n, _ := between(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contract.ProblemType)
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"type":"urn:berth:problem:device_token_expired"}`)
	})
	_, a, err := n.dial(t, nil)
	if err == nil || a.status != http.StatusUnauthorized || a.header.Get("Retry-After") != "3" || !strings.Contains(a.body, "device_token_expired") {
		t.Fatalf("answered %+v, %v", a, err)
	}
	if err := n.ended(t, 0); err != nil || n.refusals() != 0 {
		t.Fatalf("a device's own refusal counts against the route: %v", err)
	}
}
