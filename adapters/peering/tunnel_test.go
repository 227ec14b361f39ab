package peering_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"berth/adapters/contract"
)

// echo answers each message with itself.
func echo(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{contract.ConnectProtocol}, InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(-1)
	for {
		kind, data, err := c.Read(context.Background())
		if err != nil {
			return
		}
		if c.Write(context.Background(), kind, data) != nil {
			return
		}
	}
}

func (n *near) dial(tb testing.TB, header http.Header) (*websocket.Conn, answered, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	c, got, err := websocket.Dial(ctx, n.front.URL+contract.ConnectPath, &websocket.DialOptions{
		Subprotocols: []string{contract.ConnectProtocol, contract.ConnectTokenPrefix + "abc"}, HTTPHeader: header,
	})
	if c != nil {
		c.SetReadLimit(-1)
		tb.Cleanup(func() { _ = c.CloseNow() })
		return c, answered{}, err
	}
	return c, read(got), err
}

func says(tb testing.TB, c *websocket.Conn, data []byte) {
	tb.Helper()
	if err := c.Write(tb.Context(), websocket.MessageText, data); err != nil {
		tb.Fatal(err)
	}
	if _, got, err := c.Read(tb.Context()); err != nil || !bytes.Equal(got, data) {
		tb.Fatalf("%d bytes come back as %d, %v", len(data), len(got), err)
	}
}

func between(tb testing.TB, h http.HandlerFunc) (*near, *owner) {
	tb.Helper()
	r := &registry{}
	o := r.owner(tb, r.node("n1"), quick(), h)
	return r.near(tb, r.node("n0"), quick(), o.route("n1")), o
}

// A WebSocket goes through whole, whatever the size of its messages, with the subprotocol that the owner chose; the owner is told
// which peer sent it, and at which generation.
func TestWebSocketGoesThrough(t *testing.T) {
	t.Parallel()
	var told atomic.Pointer[contract.Forwarded]
	n, o := between(t, func(w http.ResponseWriter, r *http.Request) {
		f, _ := contract.ForwardedIn(r.Context())
		told.Store(&f)
		echo(w, r)
	})
	c, _, err := n.dial(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Subprotocol() != contract.ConnectProtocol || *told.Load() != (contract.Forwarded{Node: "n0", Generation: 7}) {
		t.Fatalf("the subprotocol is %q, and the owner was told %+v", c.Subprotocol(), told.Load())
	}
	for _, size := range []int{0, 1, 100, 505, 506, 507, 508, 509, 510, 511, 512, 513, 1000, 16383, 16384, 16385, 65536, 1 << 20} {
		data := make([]byte, size)
		_, _ = rand.Read(data)
		says(t, c, data)
	}
	if n.forwarder.Tunnels() != 1 || n.links() != 1 || o.links() != 1 {
		t.Fatalf("%d tunnels, %d and %d links", n.forwarder.Tunnels(), n.links(), o.links())
	}
	_ = c.Close(websocket.StatusNormalClosure, "")
	if err := n.ended(t, 0); err != nil {
		t.Fatalf("it ended with %v", err)
	}
	within(t, 5*time.Second, "nothing is left", func() bool { return n.forwarder.Tunnels() == 0 && n.links() == 0 && o.links() == 0 })
}

// raw is a device that speaks bytes, for what no library does.
func (n *near) raw(tb testing.TB) net.Conn {
	tb.Helper()
	c := must(net.Dial("tcp", n.front.Listener.Addr().String()))
	tb.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

const handshake = "GET /connect/v1 HTTP/1.1\r\nHost: eu.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
	"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

// switching takes a connection over and answers that it switches, with something right behind.
func switching(w http.ResponseWriter, behind string) (net.Conn, io.Reader) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n"+behind)
	return c, rw.Reader
}

// head reads the answer's head.
func head(tb testing.TB, c net.Conn) string {
	tb.Helper()
	var out []byte
	for one := make([]byte, 1); !bytes.HasSuffix(out, []byte("\r\n\r\n")); out = append(out, one...) {
		if _, err := io.ReadFull(c, one); err != nil {
			tb.Fatalf("%v after %q", err, out)
		}
	}
	return string(out)
}

// What comes right behind either handshake is not lost, and each side can end its own direction while the other goes on.
func TestHalfCloseAndBufferedBytes(t *testing.T) {
	t.Parallel()
	for name, deviceFirst := range map[string]bool{"the device ends first": true, "the owner ends first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard := make(chan string, 1)
			n, _ := between(t, func(w http.ResponseWriter, _ *http.Request) {
				c, from := switching(w, "early of the owner;")
				defer c.Close()
				if !deviceFirst {
					_ = c.(*tls.Conn).CloseWrite()
				}
				all, err := io.ReadAll(from)
				heard <- string(all) + slugOf(err)
				if deviceFirst {
					_, _ = io.WriteString(c, strings.Repeat("late;", 10000))
				}
			})
			c := n.raw(t)
			_, _ = io.WriteString(c, handshake+"early of the device;")
			if got := head(t, c); !strings.HasPrefix(got, "HTTP/1.1 101 ") || !strings.Contains(got, "Sec-Websocket-Accept: x\r\n") {
				t.Fatalf("the answer is %q", got)
			}
			want := "early of the owner;"
			if deviceFirst {
				_ = c.(*net.TCPConn).CloseWrite()
				want += strings.Repeat("late;", 10000)
			}
			all, err := io.ReadAll(c)
			if err != nil || string(all) != want {
				t.Fatalf("the device reads %d bytes, %v", len(all), err)
			}
			back := "early of the device;"
			if !deviceFirst {
				_, _ = io.WriteString(c, strings.Repeat("late;", 10000))
				_ = c.(*net.TCPConn).CloseWrite()
				back += strings.Repeat("late;", 10000)
			}
			if got := <-heard; got != back {
				t.Fatalf("the owner reads %d bytes, and not %d", len(got), len(back))
			}
			if err := n.ended(t, 0); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// One side that never ends its direction keeps the other for so long only.
func TestLingerEnds(t *testing.T) {
	t.Parallel()
	r, o := &registry{}, quick()
	o.Limits.Linger = 50 * time.Millisecond
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	own := r.owner(t, r.node("n1"), o, func(w http.ResponseWriter, _ *http.Request) {
		c, _ := switching(w, "")
		defer c.Close()
		<-hold
	})
	n := r.near(t, r.node("n0"), o, own.route("n1"))
	c := n.raw(t)
	_, _ = io.WriteString(c, handshake)
	head(t, c)
	_ = c.(*net.TCPConn).CloseWrite()
	if err := n.ended(t, 0); err != nil {
		t.Fatal(err)
	}
}

// A tunnel on which nothing moves is ended, and one on which something does is not.
func TestSilenceEnds(t *testing.T) {
	t.Parallel()
	r, o := &registry{}, quick()
	o.Limits.Silence = 300 * time.Millisecond
	own := r.owner(t, r.node("n1"), o, echo)
	n := r.near(t, r.node("n0"), o, own.route("n1"))
	c, _, err := n.dial(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	pace := time.NewTicker(30 * time.Millisecond)
	defer pace.Stop()
	for range 20 {
		says(t, c, []byte("x"))
		<-pace.C
	}
	if err := n.ended(t, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(t.Context()); err == nil {
		t.Fatal("the device still reads")
	}
}
