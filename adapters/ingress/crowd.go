package ingress

import (
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"berth/domain/fault"
	"berth/domain/identity"
)

// crowd is every connection there is, and every node that has one or had one a moment ago.
type crowd struct {
	limits  Limits
	metrics *Metrics
	epoch   time.Time // a little before the first connection

	mu    sync.Mutex
	links map[*link]struct{}
	nodes map[identity.SPIFFEID]*node
}

// node is what is counted of one SPIFFE id. Its rate outlives its connections for a while, so that a new one is no way to
// a new burst.
type node struct {
	id    string
	rate  *rate.Limiter
	body  memory
	links map[*link]struct{} // guarded by the crowd
	left  time.Time          // when its last connection went
}

func newCrowd(l Limits, m *Metrics) *crowd {
	return &crowd{
		limits: l, metrics: m, epoch: time.Now().Add(-time.Second),
		links: map[*link]struct{}{}, nodes: map[identity.SPIFFEID]*node{},
	}
}

// admit counts a connection whose handshake begins. Fault: Exhausted connections_exhausted.
func (c *crowd) admit(raw net.Conn) (*link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.links) >= c.limits.Connections {
		return nil, fault.New(fault.Exhausted, "connections_exhausted", "there are too many connections")
	}
	l := &link{Conn: raw, gone: c.forget, epoch: c.epoch}
	l.rest()
	c.links[l] = struct{}{}
	c.metrics.connections.Set(float64(len(c.links)))
	return l, nil
}

// settle counts a connection to the node that it proved to be. A node that has too many loses the one that was idle for
// longest, so that those a crash left behind do not lock it out. Fault: Exhausted node_connections_exhausted.
func (c *crowd) settle(l *link) error {
	c.mu.Lock()
	n := c.nodes[l.peer.id]
	if n == nil {
		n = &node{
			id: l.peer.id.String(), links: map[*link]struct{}{},
			rate: rate.NewLimiter(rate.Limit(c.limits.NodeRate), c.limits.NodeBurst),
			body: memory{most: c.limits.BodyMemoryPerNode},
		}
		c.nodes[l.peer.id] = n
	}
	var victim *link
	if len(n.links) >= c.limits.ConnectionsPerNode {
		if victim = n.idlest(); victim == nil {
			c.mu.Unlock()
			return fault.New(fault.Exhausted, "node_connections_exhausted", "the node has too many connections at a time")
		}
		delete(n.links, victim)
	}
	if _, open := c.links[l]; open {
		n.links[l], l.node = struct{}{}, n
	}
	c.mu.Unlock()
	if victim != nil {
		victim.cut()
	}
	if l.node == nil {
		return net.ErrClosed
	}
	l.rest()
	return nil
}

func (n *node) idlest() *link {
	var found *link
	var least int64
	for l := range n.links {
		if since, idle := l.idle(); idle && (found == nil || since < least) {
			found, least = l, since
		}
	}
	return found
}

func (c *crowd) forget(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.links, l)
	c.metrics.connections.Set(float64(len(c.links)))
	if l.node == nil {
		return
	}
	delete(l.node.links, l)
	if len(l.node.links) == 0 {
		l.node.left = time.Now()
	}
}

// all is every connection that is through its handshake.
func (c *crowd) all() []*link {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*link, 0, len(c.links))
	for l := range c.links {
		if l.node != nil {
			out = append(out, l)
		}
	}
	return out
}

const nodeMemory = time.Minute

// tidy forgets nodes that have had no connection for so long that their rate is whole again.
func (c *crowd) tidy(now time.Time) {
	keep := max(nodeMemory, time.Duration(float64(c.limits.NodeBurst)/c.limits.NodeRate*float64(time.Second)))
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, n := range c.nodes {
		if len(n.links) == 0 && now.Sub(n.left) > keep {
			delete(c.nodes, id)
		}
	}
}

// dismiss ends every connection that a judgement finds fault with.
func (c *crowd) dismiss(judge func(*link) error) {
	for _, l := range c.all() {
		if err := judge(l); err != nil {
			l.dismiss(err)
		}
	}
}
