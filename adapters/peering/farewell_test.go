package peering_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/peering"
)

// A device that sends all the time when its peer is lost, or this node stops, is told as one that is silent is; and so is one
// that is in the middle of a frame when the node stops: the frame is completed first.
func TestBusyDeviceIsTold(t *testing.T) {
	t.Parallel()
	frame := append([]byte{0x81, 126, 0x10, 0}, bytes.Repeat([]byte("x"), 0x1000)...)
	for name, c := range map[string]struct {
		lose   func(r *registry, n *near, o *owner)
		reason string
		split  int // how much of the frame has come by then; the rest comes later
	}{
		"the owner is revoked": {func(r *registry, _ *near, o *owner) { r.revoke(o.shown) }, contract.GoawayUnavailable, len(frame)},
		"the node stops":       {func(_ *registry, n *near, _ *owner) { n.stop() }, contract.GoawayShutdown, len(frame)},
		"in a head":            {func(_ *registry, n *near, _ *owner) { n.stop() }, contract.GoawayShutdown, 3},
		"in a body":            {func(_ *registry, n *near, _ *owner) { n.stop() }, contract.GoawayShutdown, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rest := make(chan struct{})
			o := quick()
			o.Limits.Farewell = 5 * time.Second // this machine may have much else to do
			r := &registry{}
			own := r.owner(t, r.node("n1"), o, func(w http.ResponseWriter, _ *http.Request) {
				d, from := switching(w, string(frame[:c.split]))
				defer d.Close()
				go func() {
					<-rest
					_, _ = d.Write(frame[c.split:])
				}()
				_, _ = io.Copy(io.Discard, from)
			})
			n := r.near(t, r.node("n0"), o, own.route("n1"))
			d := n.raw(t)
			_, _ = io.WriteString(d, handshake)
			head(t, d)
			begun := make([]byte, c.split)
			if _, err := io.ReadFull(d, begun); err != nil {
				t.Fatal(err)
			}
			busy := make(chan struct{})
			go func() {
				for i := 0; ; i++ {
					if _, err := d.Write(make([]byte, 3000)); err != nil {
						return
					}
					if i == 100 {
						close(busy)
					}
				}
			}()
			<-busy
			c.lose(r, n, own)
			go func() { close(rest) }()
			got, err := io.ReadAll(d)
			if got = append(begun, got...); !bytes.HasPrefix(got, frame) {
				t.Fatalf("the frame does not come whole: %d bytes, %v", len(got), err)
			}
			if last := peering.Split(got[len(frame):]); len(last) != 2 || !bytes.Contains(last[0], []byte(`"reason":"`+c.reason+`"`)) ||
				!bytes.HasSuffix(last[1], []byte(c.reason)) {
				t.Fatalf("the device is told %q, %v", last, err)
			}
			_ = d.Close()
			within(t, 5*time.Second, "nothing is left", func() bool { return n.links() == 0 && own.links() == 0 && n.forwarder.Tunnels() == 0 })
		})
	}
}

// A device that does not read has no more be held for it in the kernels of the two nodes than a few small buffers.
func TestWhoDoesNotReadHoldsLittle(t *testing.T) {
	t.Parallel()
	taken := make(chan int, 1)
	n, _ := between(t, func(w http.ResponseWriter, _ *http.Request) {
		d, _ := switching(w, "")
		defer d.Close()
		_ = d.(*tls.Conn).NetConn().(interface{ NetConn() net.Conn }).NetConn().(*net.TCPConn).SetWriteBuffer(32 << 10)
		all := 0
		for piece := make([]byte, 4<<10); ; all += len(piece) {
			_ = d.SetWriteDeadline(time.Now().Add(time.Second)) // then it takes no more
			if _, err := d.Write(piece); err != nil {
				taken <- all
				return
			}
		}
	})
	d := n.raw(t)
	_ = d.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, _ = io.WriteString(d, handshake)
	head(t, d)
	if got := <-taken; got > 512<<10 {
		t.Fatalf("%d bytes are held for a device that reads nothing", got)
	}
}
