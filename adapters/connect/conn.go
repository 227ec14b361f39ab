package connect

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"berth/adapters/contract"
	"berth/application/relay"
	"berth/domain/fault"
)

// conn is a device's connection: the relay.Line of its session.
type conn struct {
	h       *Handler
	device  deviceKey
	session Session
	ws      *websocket.Conn
	wire    *wire

	heard    atomic.Int64 // when something came last, as h.now has it
	frames   bucket       // of the reader
	controls bucket       // of the reader

	order sync.Mutex // what a subscription brings comes after its answer: held while either is put in line

	mu      sync.Mutex
	free    sync.Cond // the reader waits here
	phase   phase
	since   int64   // when phase began
	queue   *[]byte // answers, framed; nil where there is none
	busy    int     // publishes that are not answered
	held    bool    // the reader waits
	woken   bool
	ping    bool
	asked   int64 // when a ping was last due
	writing bool
	left    bool // the session
	leave   leave
}

// deviceKey is a device, among all tenants'.
type deviceKey struct{ tenant, principal string }

// leave is what is said last.
type leave struct {
	goaway *contract.Frame // none after an error frame that says it all
	code   int
	reason string
}

func newConn(h *Handler, d relay.Device) *conn {
	c := &conn{h: h, device: deviceKey{d.Tenant, d.Principal}}
	c.free.L = &c.mu
	c.frames.fill(float64(h.o.Limits.FrameBurst))
	c.controls.fill(controlBurst * h.o.Limits.ControlRate)
	c.heard.Store(h.now())
	c.since = h.now()
	return c
}

// Wake is relay.Line's.
func (c *conn) Wake() {
	c.mu.Lock()
	c.woken = true
	c.kick()
	c.mu.Unlock()
}

// End is relay.Line's.
func (c *conn) End(e relay.End) {
	f := &contract.Frame{
		Op: contract.OpGoaway, Reason: string(e.Reason), RetryAfterMS: e.Retry.Milliseconds(), URL: c.h.o.URL,
	}
	if f2, ok := fault.As(e.Err); ok {
		f.Slug = f2.Slug
	}
	l := leave{goaway: f, code: codes[e.Reason], reason: string(e.Reason)}
	if l.code == 0 {
		l.code = contract.CloseInternal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == opening { // the goaway waits for the upgrade
		if c.leave.code == 0 {
			c.leave = l
		}
		return
	}
	c.dismiss(l, patient(e.Reason))
}

// dismiss begins the end, at once or once the publishes that wait are answered. mu is held.
func (c *conn) dismiss(l leave, patient bool) {
	if patient && c.busy > 0 {
		if c.step(dismissed) {
			c.leave = l
		}
		return
	}
	if c.step(ended) {
		c.leave = l
		if l.code == contract.CloseRevoked {
			c.hurry(revokedTime)
		} else {
			c.hurry(linger)
		}
		c.kick()
	}
}

// Times of an ending.
const (
	linger      = 2 * time.Second        // in which a device takes the goaway and closes
	revokedTime = 500 * time.Millisecond // in which one that is revoked takes it: it is cut in the middle of a frame if need be
)

// hurry bounds what is being written when the end comes, so that a device that reads slowly is cut. mu is held.
func (c *conn) hurry(within time.Duration) { c.wire.hurry(time.Now().Add(within)) }

// fail ends the connection for what a device sent, with an error frame that says so. It says whether that is the end.
func (c *conn) fail(of request, err error, code int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.step(ended) {
		return false
	}
	c.h.counts.malformed.Add(1)
	line := c.line()
	*line = text(*line, refusal(of, err))
	c.leave = leave{code: code, reason: fault.SlugOf(err)}
	c.hurry(linger)
	c.kick()
	return true
}

// tell puts a frame in line.
func (c *conn) tell(f contract.Frame) {
	c.mu.Lock()
	if c.phase == open || c.phase == settling {
		line := c.line()
		*line = text(*line, f)
		c.kick()
	}
	c.mu.Unlock()
}

// kick starts the writer where there is none. mu is held.
func (c *conn) kick() {
	if !c.writing && c.phase != opening && c.phase != closed {
		c.writing = true
		go c.write()
	}
}

// cut ends the connection without a word; the reader finds it closed.
func (c *conn) cut() {
	c.mu.Lock()
	c.step(lost)
	wire := c.wire
	c.mu.Unlock()
	if wire != nil {
		_ = wire.Close()
	}
}

// going is true of a connection that is on its way out.
func (c *conn) going() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase >= leaving
}

// wired takes the connection over at its upgrade.
func (c *conn) wired(w *wire) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wire = w; c.phase == closed {
		_ = w.Close()
	}
}

func (c *conn) is(p phase) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == p
}

// supersede ends a connection that a newer one of its device takes the place of, and its session at once: the node counts
// those as well.
func (c *conn) supersede() {
	defer c.quit()
	c.End(relay.End{
		Reason: relay.Overload, Retry: c.h.jitter(),
		Err: fault.New(fault.Exhausted, "too_many_connections", "a newer connection of the device took this one's place"),
	})
}

// close is the reader's last act.
func (c *conn) close() {
	c.cut()
	_ = c.ws.CloseNow() // frees what the library holds; the connection is closed
	c.quit()
	c.h.crowd.forget(c)
}

// quit leaves the session, once.
func (c *conn) quit() {
	c.mu.Lock()
	already := c.left
	c.left = true
	c.mu.Unlock()
	if !already {
		c.session.Leave()
	}
}

// pinged and ponged are called by the reader, inside the library.
func (c *conn) pinged(context.Context, []byte) bool { return c.control() }

func (c *conn) ponged(context.Context, []byte) { c.control() }

const controlBurst = 10 // seconds' worth

// control counts a ping or pong, and says whether it is answered.
func (c *conn) control() bool {
	c.heard.Store(c.h.now())
	if c.controls.take(time.Now(), c.h.o.Limits.ControlRate, controlBurst*c.h.o.Limits.ControlRate) == 0 {
		return true
	}
	if c.fail(request{}, fault.New(fault.Exhausted, "ping_flood", "there were too many pings and pongs"), contract.ClosePolicy) {
		c.h.counts.flooding.Add(1)
	}
	return false
}
