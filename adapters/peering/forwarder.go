package peering

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/ports/authority"
)

// Forwarder takes devices' requests to the peers that serve their tenants (R3). It is safe for concurrent use. Use NewForwarder, and
// Close when done.
type Forwarder struct {
	o     Options
	plane Plane
	dials chan struct{}
	pool  *pool
	lines lines

	tunnels atomic.Int64

	mu   sync.Mutex
	away map[place]time.Time // until when a place is not dialled again
}

// place is where a peer is, and who it must be.
type place struct{ address, spiffeID string }

// NewForwarder returns a forwarder.
func NewForwarder(o Options, p Plane) *Forwarder {
	f := &Forwarder{o: o, plane: p, dials: make(chan struct{}, o.Limits.Dials), away: map[place]time.Time{}}
	f.pool = newPool(f)
	return f
}

// Tunnels is how many WebSockets are passed on.
func (f *Forwarder) Tunnels() int { return int(f.tunnels.Load()) }

// Close cuts every connection to a peer, and dials none any more.
func (f *Forwarder) Close() {
	f.lines.close()
	f.pool.close()
}

// Forward answers a device's request with what the peer answers, and returns when that has ended; of a WebSocket when the
// connection has, which the end of the request's context brings about. An error means that nothing was written yet, and nothing of the
// body was read: the route may be stale, and the plane was told where it is.
// Faults: Conflict generation_changed and Unavailable not_holder, as the peer says; Unavailable not_holder for a request that was
// forwarded already, peer_address_unknown, peer_unreachable, peer_refused (it does not believe this node), peer_silent,
// peer_malformed, request_ended, and, where this node does not believe the peer, by the slug of why; Invalid body_too_large.
func (f *Forwarder) Forward(w http.ResponseWriter, r *http.Request, to authority.Route) error {
	if _, ok := contract.ForwardedIn(r.Context()); ok {
		return fault.New(fault.Unavailable, "not_holder", "what was forwarded goes no further").After(time.Second)
	}
	if to.Address == "" {
		return unavailable("peer_address_unknown", "the node that holds the tenant does not say where its peers reach it", nil)
	}
	if r.ContentLength > f.o.Limits.Body {
		return fault.New(fault.Invalid, "body_too_large", "a body has at most %d bytes", f.o.Limits.Body)
	}
	if upgrades(r) {
		return f.tunnel(w, r, to)
	}
	return f.transfer(w, r, to)
}

func unavailable(slug, detail string, err error) *fault.Error {
	return fault.New(fault.Unavailable, slug, "%s", detail).Because(err).After(time.Second)
}

// dial connects to a peer and has it judged.
func (f *Forwarder) dial(ctx context.Context, at place) (*tls.Conn, error) {
	if f.shunned(at) {
		return nil, unavailable("peer_unreachable", "the peer was not to be reached just now", nil)
	}
	ctx, cancel := context.WithTimeout(ctx, f.o.Limits.HandshakeTimeout)
	defer cancel()
	select {
	case f.dials <- struct{}{}:
		defer func() { <-f.dials }()
	case <-ctx.Done():
		return nil, unavailable("peer_unreachable", "too many connections to peers are being made", ctx.Err())
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", at.address)
	if err != nil {
		f.shun(ctx, at)
		return nil, unavailable("peer_unreachable", "the peer does not answer", err)
	}
	l := &line{Conn: raw, gone: f.lines.forget}
	if !f.lines.add(l) {
		_ = raw.Close()
		return nil, unavailable("peer_unreachable", "this node stops", nil)
	}
	c := tls.Client(l, f.tls(l, at.spiffeID))
	if err := c.HandshakeContext(ctx); err != nil {
		_ = l.Close()
		if _, told := fault.As(err); !told {
			f.shun(ctx, at)
		}
		return nil, unbelieved(err)
	}
	return c, nil
}

// tls shows the node's certificate and judges the peer's by the plane alone: no name and no authority says who a peer is.
func (f *Forwarder) tls(l *line, want string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{alpn}, SessionTicketsDisabled: true,
		InsecureSkipVerify:   true, //nolint:gosec // VerifyConnection judges by exact SPIFFE id and listed fingerprint
		VerifyConnection:     believe(f.plane, l, want, f.o.Limits.HandshakeTimeout),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own(f.plane) },
	}
}

// unbelieved keeps the name of why a peer is not believed; to the device that is no refusal of its own.
func unbelieved(err error) error {
	if told, ok := fault.As(err); ok {
		return unavailable(told.Slug, "the peer is not believed: "+told.Detail, err)
	}
	return broken(err)
}

// broken names what became of a connection to a peer before it answered.
func broken(err error) error {
	if told, ok := fault.As(err); ok {
		return told
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" { // a TLS alert
		return unavailable("peer_refused", "the peer does not believe this node", err)
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return unavailable("peer_silent", "the peer takes connections, and does not answer", err)
	}
	return unavailable("peer_unreachable", "the connection to the peer broke", err)
}

// failed ends an attempt: the plane is told where it speaks against the route, unless the device was the one to go.
func (f *Forwarder) failed(ctx context.Context, to authority.Route, err error) error {
	if ctx.Err() != nil {
		return unavailable("request_ended", "the request ended first", context.Cause(ctx))
	}
	f.plane.RouteRefused(to)
	f.o.Log.Debug("a request could not be forwarded", "tenant", to.Tenant, "node", to.Node, "slug", fault.SlugOf(err), "error", err)
	return err
}

const mostAway = 4096

func (f *Forwarder) shun(ctx context.Context, at place) {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return // the device was the one to go
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.away) >= mostAway {
		clear(f.away)
	}
	f.away[at] = time.Now().Add(f.o.Limits.FailFast)
}

func (f *Forwarder) shunned(at place) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	until, ok := f.away[at]
	if ok && !time.Now().Before(until) {
		delete(f.away, at)
		return false
	}
	return ok
}
