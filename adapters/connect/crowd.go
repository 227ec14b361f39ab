package connect

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"berth/domain/fault"
)

// crowd is every connection there is, from before its session.
type crowd struct {
	limits *Limits

	mu       sync.Mutex
	stopping bool
	conns    map[*conn]struct{}
	devices  map[deviceKey][]*conn
	empty    chan struct{} // closed once stopping and there is none
}

func newCrowd(l *Limits) *crowd {
	return &crowd{limits: l, conns: map[*conn]struct{}{}, devices: map[deviceKey][]*conn{}, empty: make(chan struct{})}
}

// stale is how long a connection is silent before a new one of its device may take its place: what a lost network left
// behind does not lock its device out.
const stale = 5 * time.Second

// admit counts a connection. Faults: Exhausted too_many_connections; Unavailable node_stopping.
func (c *crowd) admit(n *conn) error {
	c.mu.Lock()
	if c.stopping {
		c.mu.Unlock()
		return errStopping()
	}
	mine := slices.DeleteFunc(slices.Clone(c.devices[n.device]), (*conn).going)
	var victim *conn
	if len(mine) >= c.limits.ConnectionsPerPrincipal {
		victim = slices.MinFunc(mine, func(a, b *conn) int { return cmp.Compare(a.heard.Load(), b.heard.Load()) })
		if n.heard.Load()-victim.heard.Load() < int64(stale) || !victim.is(open) {
			c.mu.Unlock()
			return fault.New(fault.Exhausted, "too_many_connections", "the device has %d connections", len(mine)).
				Curable("close one of them, or wait until one has been silent for %v", stale)
		}
		mine = without(mine, victim) // no other one takes its place again
	}
	c.conns[n] = struct{}{}
	c.devices[n.device] = append(mine, n)
	c.mu.Unlock()
	if victim != nil {
		victim.supersede()
	}
	return nil
}

func errStopping() error {
	return fault.New(fault.Unavailable, "node_stopping", "the node stops; another one answers").After(time.Second)
}

func without(list []*conn, n *conn) []*conn {
	return slices.DeleteFunc(slices.Clone(list), func(other *conn) bool { return other == n })
}

func (c *crowd) forget(n *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, n)
	if rest := without(c.devices[n.device], n); len(rest) > 0 {
		c.devices[n.device] = rest
	} else {
		delete(c.devices, n.device)
	}
	c.emptied()
}

// all is a copy of every connection.
func (c *crowd) all(into []*conn) []*conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	into = slices.Grow(into[:0], len(c.conns))
	for n := range c.conns {
		into = append(into, n)
	}
	return into
}

func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns)
}

// stop admits nobody from now on, and returns what is closed once nobody is left.
func (c *crowd) stop() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	c.emptied()
	return c.empty
}

// emptied says when nobody is left. mu is held.
func (c *crowd) emptied() {
	if !c.stopping || len(c.conns) > 0 {
		return
	}
	select {
	case <-c.empty:
	default:
		close(c.empty)
	}
}
