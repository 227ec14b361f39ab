package connect

import (
	"errors"

	"berth/application/relay"
	"berth/ports/engine"
)

// round is what a writer writes at a time.
type round struct {
	framed   *[]byte // answers
	messages []engine.Message
	ping     bool
	leave    *leave
}

const takeBytes = 32 << 10 // of messages' bodies in a round

// write writes until there is nothing more. There is one writer at a time, and none after the one that said the last word.
func (c *conn) write() {
	for {
		r, more := c.gather()
		if !more {
			return
		}
		err := c.put(r)
		switch {
		case errors.Is(err, errOver):
			c.wire.half() // the library said the last word; the reader ends the connection
			return
		case err != nil:
			c.stalled(err)
			return
		case r.leave != nil:
			return
		}
	}
}

func (c *conn) stalled(err error) {
	c.mu.Lock()
	already := c.phase == closed // the device is gone, and the write failed for that
	c.mu.Unlock()
	if !already {
		c.h.counts.stalled.Add(1)
		c.h.o.Log.Debug("a device does not take what is written", "tenant", c.device.tenant, "error", err)
	}
	c.cut()
}

// gather takes what is in line, and the messages that may follow it; false, and the writer is no more, where there is
// nothing.
func (c *conn) gather() (r round, more bool) {
	c.order.Lock()
	defer c.order.Unlock()
	if c.wanting() {
		var rest bool
		var err error
		if r.messages, rest, err = c.session.Take(c.h.ctx, takeBytes); err != nil {
			c.End(relay.End{Reason: relay.Unavailable, Err: err, Retry: c.h.jitter()})
		}
		if rest {
			c.mu.Lock()
			c.woken = true
			c.mu.Unlock()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == closed {
		return round{}, false
	}
	r.framed, c.queue = c.queue, nil
	r.ping, c.ping = c.ping, false
	if c.held {
		c.free.Broadcast()
	}
	if c.phase == leaving {
		l := c.leave
		r.leave, r.messages, r.ping = &l, nil, false
	}
	if r.framed == nil && len(r.messages) == 0 && !r.ping && r.leave == nil && !c.woken {
		c.writing = false
		return round{}, false
	}
	return r, true
}

// wanting says whether to ask the session for messages, and that it was asked.
func (c *conn) wanting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanting := c.woken && c.phase == open
	if wanting {
		c.woken = false
	}
	return wanting
}

// put writes a round, as few pieces as its size allows.
func (c *conn) put(r round) (err error) {
	buffer := c.wire.cork()
	if r.framed != nil {
		err = c.wire.put(func(b []byte) []byte { return append(b, *r.framed...) })
		giveBack(r.framed)
	}
	for i := range r.messages {
		if err == nil {
			err = c.wire.put(func(b []byte) []byte { return message(b, &r.messages[i]) })
		}
	}
	if r.ping && err == nil {
		err = c.wire.put(func(b []byte) []byte { return append(b, framePing, 0) })
	}
	if r.leave != nil && err == nil {
		err = c.wire.farewell(func(b []byte) []byte {
			if r.leave.goaway != nil {
				b = text(b, *r.leave.goaway)
			}
			return closeFrame(b, r.leave.code, r.leave.reason)
		})
		_ = c.wire.uncork(buffer) // there is nothing in it any more
		return err
	}
	if failed := c.wire.uncork(buffer); err == nil {
		err = failed
	}
	return err
}

// line is the answers that are to be written. mu is held.
func (c *conn) line() *[]byte {
	if c.queue == nil {
		c.queue, _ = outs.Get().(*[]byte)
		*c.queue = (*c.queue)[:0]
	}
	return c.queue
}

// queued is how much that is. mu is held.
func (c *conn) queued() int {
	if c.queue == nil {
		return 0
	}
	return len(*c.queue)
}
