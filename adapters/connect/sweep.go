package connect

import "time"

const sweepInterval = time.Second

// sweep looks after all connections, with one goroutine: it pings those that are silent and cuts those that stay so, and
// ends what takes too long to end.
func (h *Handler) sweep() {
	defer close(h.swept)
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	var conns []*conn
	for {
		select {
		case <-ticker.C:
		case <-h.ctx.Done():
			return
		}
		h.tick.Store(int64(time.Since(h.epoch)))
		conns = h.crowd.all(conns)
		for _, c := range conns {
			c.look(h.now())
		}
		clear(conns)
	}
}

// now is the time since the handler began, as the sweeper saw it last.
func (h *Handler) now() int64 { return h.tick.Load() }

// look does to a connection what its silence calls for.
func (c *conn) look(now int64) {
	l := &c.h.o.Limits
	c.mu.Lock()
	defer c.mu.Unlock()
	silent := time.Duration(now - c.heard.Load())
	since := time.Duration(now - c.since)
	switch {
	case c.phase == settling && since >= l.SettleTimeout:
		c.dismiss(c.leave, false)
	case c.phase == leaving && since >= linger:
		go c.cut() // closing may wait for a write
	case c.phase != open || c.held:
	case silent >= l.IdleTimeout:
		c.h.counts.silent.Add(1)
		go c.cut()
	case silent >= l.PingAfter && now-c.asked >= int64(l.PingAfter):
		c.ping, c.asked = true, now
		c.kick()
	}
}
