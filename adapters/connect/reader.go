package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// read is the connection's one goroutine: it reads frames and has them done, until the connection ends.
func (c *conn) read() {
	defer c.close()
	c.begin()
	for {
		kind, from, err := c.ws.Reader(context.Background())
		if err != nil {
			c.broken(err)
			return
		}
		c.wire.begin()
		data, back, err := c.take(from, kind)
		if err != nil {
			back()
			c.broken(err)
			return
		}
		c.wire.done()
		if data != nil {
			c.heard.Store(c.h.now())
			c.serve(data)
		}
		back()
	}
}

// begin opens the connection, and ends it where its session already has.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step(upgraded)
	if c.leave.code != 0 {
		c.dismiss(c.leave, false)
		return
	}
	if c.woken {
		c.kick()
	}
}

// ins are the buffers of readers.
var ins = sync.Pool{New: func() any { b := make([]byte, leastIn); return &b }} //nolint:gochecknoglobals // a pool is shared by what it is for

const leastIn = 4 << 10

// take reads a message whole; nil where it does not count, since the connection is ending. back is called when the data is
// done with. An error is that of the connection, which can not be read any more.
func (c *conn) take(from io.Reader, kind websocket.MessageType) (data []byte, back func(), err error) {
	buffer, _ := ins.Get().(*[]byte)
	back = func() { ins.Put(buffer) }
	n := 0
	for {
		if n == len(*buffer) {
			*buffer = append(*buffer, make([]byte, min(n, c.h.o.Limits.Frame+1-n))...)
		}
		got, err := from.Read((*buffer)[n:])
		n += got
		if c.ending() {
			n = 0
		}
		if n > c.h.o.Limits.Frame {
			c.fail(request{}, tooLarge(c.h.o.Limits.Frame), contract.CloseTooLarge)
			n = 0
		}
		switch {
		case errors.Is(err, io.EOF):
			return c.form(kind, (*buffer)[:n]), back, nil
		case err != nil:
			return nil, back, err
		}
	}
}

func tooLarge(most int) error {
	return fault.New(fault.Invalid, "frame_too_large", "a frame has at most %d bytes", most)
}

// form refuses binary messages.
func (c *conn) form(kind websocket.MessageType, data []byte) []byte {
	switch {
	case c.ending():
		return nil
	case kind != websocket.MessageText:
		c.fail(request{}, fault.New(fault.Invalid, "frame_binary", "a frame is text"), contract.CloseBinary)
		return nil
	}
	return data
}

// broken ends the connection for what broke the reading off. What a device did is said to it.
func (c *conn) broken(err error) {
	var why *fault.Error
	code := contract.ClosePolicy
	switch {
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		websocket.CloseStatus(err) >= 0:
		return
	case errors.Is(err, errFragmented):
		why = fault.New(fault.Invalid, "frame_fragmented", "a message has too many fragments")
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = fault.New(fault.Invalid, "frame_too_slow", "a frame comes within %v", c.h.o.Limits.FrameTime)
	default:
		why, code = fault.New(fault.Invalid, "protocol_violation", "what came is not as RFC 6455 has it"), contract.CloseProtocol
	}
	c.fail(request{}, why, code)
	c.drain()
}

// drain reads past what can not be understood any more, so that the close behind the error frame is not lost to a reset.
func (c *conn) drain() {
	var past [512]byte
	c.wire.inside = false
	_ = c.wire.SetReadDeadline(time.Now().Add(linger)) // a dead connection says so below
	for {
		if _, err := c.wire.Read(past[:]); err != nil {
			return
		}
	}
}

// ending is true once nothing that comes counts any more.
func (c *conn) ending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase != open
}

// room waits until the connection may take on more, and says whether it is still open. A device that sends faster than it
// is answered, or takes its answers, is read no further meanwhile: that is what bounds its memory.
func (c *conn) room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.phase == open && (c.busy >= c.h.o.Limits.PublishBusy || c.queued() > mostQueue) {
		c.held = true
		c.free.Wait()
	}
	c.held = false
	c.heard.Store(c.h.now())
	return c.phase == open
}

const mostQueue = 16 << 10

// pace slows a device down that sends too many frames.
func (c *conn) pace() {
	l := &c.h.o.Limits
	if wait := c.frames.take(time.Now(), l.FrameRate, float64(l.FrameBurst)); wait > 0 {
		timer := time.NewTimer(min(wait, time.Second))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.h.ctx.Done():
		}
	}
}
