package relay

import (
	"context"
	"crypto/x509"
	"sync"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
)

// peers are the nodes that this one believes (R3), and the connections that rest on that. Each connection is judged when it is
// made, with every list, with every second, and when the list or its certificate ends; one that does not pass is cut.
type peers struct {
	*Node
	list *fetched[*identity.PeerList]

	mu   sync.Mutex
	open map[string]*believed // by fingerprint
}

// believed is a certificate with the connections that showed it.
type believed struct {
	identity.NodeCertificate
	links map[*PeerLink]struct{}
}

// PeerLink is a connection to or from a peer, for as long as the peer is believed.
type PeerLink struct {
	of   *believed
	all  *peers
	cut  func(error)
	done bool // it was cut or closed
}

func newPeers(n *Node) *peers {
	p := &peers{Node: n, open: map[string]*believed{}}
	p.list = newFetched(n, "peers", n.settings.PeerRefresh, p.fetch)
	p.list.took = p.sweep
	return p
}

func (p *peers) fetch(ctx context.Context) (*identity.PeerList, error) {
	sent := p.Clock.Elapsed()
	all, err := p.Authority.Peers.Peers(ctx)
	if err != nil {
		return nil, err
	}
	listed := make([]identity.ListedPeer, 0, len(all))
	for _, one := range all {
		id, err := identity.ParseSPIFFEID(one.SPIFFEID)
		if err != nil {
			continue // an id that nobody can have is believed of nobody
		}
		listed = append(listed, identity.ListedPeer{SPIFFEID: id, Fingerprint: one.Fingerprint, ExpiresAt: one.ExpiresAt})
	}
	return identity.NewPeerList(p.settings.Self, listed, sent), nil
}

// run keeps the list, and cuts whoever is not believed any more, until the context ends. The connections that are open then are
// for their listeners to end.
func (p *peers) run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { p.list.run(ctx) })
	both.Go(func() {
		for p.pause(ctx, p.untilNext(), nil) {
			p.sweep()
		}
	})
	both.Wait()
}

// watchPeers is how long the sweep sleeps at most: certificates end by a wall clock, which may be set.
const watchPeers = time.Second

// untilNext is when to look again: at the latest when the list ends, so that nobody is believed any longer than that.
func (p *peers) untilNext() time.Duration {
	list, _, held := p.list.get()
	if !held {
		return watchPeers
	}
	left := list.StaleAt(p.settings.Bound) - p.Clock.Elapsed()
	if left <= 0 {
		return watchPeers
	}
	return min(left, watchPeers)
}

func (p *peers) moment() identity.Moment {
	return identity.Moment{Wall: p.keeper.now(), Elapsed: p.Clock.Elapsed()}
}

func (p *peers) judge(c identity.NodeCertificate) error {
	list, _, _ := p.list.get()
	return list.Judge(c, p.moment(), p.settings.Bound)
}

// sweep judges every certificate that a connection rests on, and cuts the connections of those that do not pass.
func (p *peers) sweep() {
	type sentence struct {
		link *PeerLink
		why  error
	}
	var cut []sentence
	p.mu.Lock()
	for fingerprint, b := range p.open {
		why := p.judge(b.NodeCertificate)
		if why == nil {
			continue
		}
		delete(p.open, fingerprint)
		for l := range b.links {
			l.done = true
			cut = append(cut, sentence{l, why})
		}
		p.Log.Warn("the connections of a peer are cut", "peer", b.SPIFFEID.String(), "fingerprint", fingerprint, "connections", len(b.links), "error", why)
	}
	p.mu.Unlock()
	for _, s := range cut {
		s.link.cut(s.why)
	}
}

// BelievePeer judges the certificate that the other end of a connection proved to have, and says whose it is. Where want is
// given, it is the exact SPIFFE id that it must name. From then on the connection is cut by a call of cut, once, as soon as
// the peer is not believed any more; that may be before BelievePeer returns. cut must not block. The link is closed with the connection.
// Faults: those of identity.NodeCertificateOf and identity.PeerList.Judge; Unauthenticated peer_of_another_node.
func (n *Node) BelievePeer(ctx context.Context, c *x509.Certificate, want string, cut func(error)) (*PeerLink, error) {
	p := n.peers
	if p == nil {
		return nil, (*identity.PeerList)(nil).Fresh(0, 0)
	}
	shown, err := identity.NodeCertificateOf(c)
	if err != nil {
		return nil, err
	}
	if want != "" && shown.SPIFFEID.String() != want {
		return nil, fault.New(fault.Unauthenticated, "peer_of_another_node", "the peer is %s and not %s", shown.SPIFFEID, want)
	}
	l, err := p.link(shown, cut)
	if fault.SlugOf(err) == "peer_not_listed" && p.list.hurry(ctx) {
		return p.link(shown, cut) // it may have been renewed since the list was asked for
	}
	return l, err
}

// link judges under the lock under which connections are cut: none slips in between a list and its sweep.
func (p *peers) link(c identity.NodeCertificate, cut func(error)) (*PeerLink, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.judge(c); err != nil {
		return nil, err
	}
	b := p.open[c.Fingerprint]
	if b == nil {
		b = &believed{NodeCertificate: c, links: map[*PeerLink]struct{}{}}
		p.open[c.Fingerprint] = b
	}
	l := &PeerLink{of: b, all: p, cut: cut}
	b.links[l] = struct{}{}
	return l, nil
}

// Node is the peer's name.
func (l *PeerLink) Node() string { return l.of.SPIFFEID.Node() }

// Close forgets the connection. It can be repeated.
func (l *PeerLink) Close() {
	p := l.all
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.done {
		return
	}
	l.done = true
	delete(l.of.links, l)
	if len(l.of.links) == 0 {
		delete(p.open, l.of.Fingerprint)
	}
}

// PeerLinks is how many connections to and from peers are open.
func (n *Node) PeerLinks() (open int) {
	if n.peers == nil {
		return 0
	}
	n.peers.mu.Lock()
	defer n.peers.mu.Unlock()
	for _, b := range n.peers.open {
		open += len(b.links)
	}
	return open
}
