package connect

import (
	"net"
	"net/netip"
	"sync"
)

// gate counts the devices' connections before anything is known of them.
type gate struct {
	limits *Limits

	mu        sync.Mutex
	counts    ServerCounts
	addresses map[netip.Addr]int
}

func newGate(l *Limits) *gate { return &gate{limits: l, addresses: map[netip.Addr]int{}} }

// link is a device's connection below its TLS; it is counted until it is closed.
type link struct {
	net.Conn
	gate *gate
	from netip.Addr
	once sync.Once
}

// Close is net.Conn's.
func (l *link) Close() error {
	err := l.Conn.Close()
	l.once.Do(func() { l.gate.leave(l.from) })
	return err
}

// NetConn is the connection itself, for what only that can.
func (l *link) NetConn() net.Conn { return l.Conn }

// addressOf is what connections are counted by: an IPv6 host has a /64 to choose from.
func addressOf(a net.Addr) netip.Addr {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{} // no TCP: all are of one address
	}
	const host = 64
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is6() {
		prefix, _ := addr.Prefix(host) // an IPv6 address has so many bits
		return prefix.Addr()
	}
	return addr
}

// enter counts a connection, and says whether there is room for it.
func (g *gate) enter(c net.Conn) (*link, bool) {
	from := addressOf(c.RemoteAddr())
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counts.Connections >= int64(g.limits.Connections) || g.addresses[from] >= g.limits.ConnectionsPerAddress {
		g.counts.Crowded++
		return nil, false
	}
	g.counts.Accepted++
	g.counts.Connections++
	g.addresses[from]++
	return &link{Conn: c, gate: g, from: from}, true
}

func (g *gate) leave(from netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts.Connections--
	if g.addresses[from]--; g.addresses[from] == 0 {
		delete(g.addresses, from)
	}
}

func (g *gate) failed() {
	g.mu.Lock()
	g.counts.Unsecured++
	g.mu.Unlock()
}

func (g *gate) read() ServerCounts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.counts
}
