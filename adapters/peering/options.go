package peering

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"log/slog"
	"time"

	"berth/application/relay"
	"berth/ports/authority"
)

// Plane is the node, as the connections of its peers see it.
type Plane interface {
	// Certificate is what the node shows: a chain in DER, its own first, and the key. ok is false while there is none.
	Certificate() (chain [][]byte, key ed25519.PrivateKey, ok bool)
	// Believe judges the certificate that the other end proved to have; want is the SPIFFE id that it must name, or empty.
	// Once the peer is believed no more, which may be before Believe returns, cut is called, once. A link is closed with
	// its connection.
	Believe(ctx context.Context, c *x509.Certificate, want string, cut func(error)) (Link, error)
	// RouteRefused is told of a route whose node is not the one, or is not to be reached.
	RouteRefused(refused authority.Route)
}

// Link is a connection whose other end is believed.
type Link interface {
	Node() string
	Close()
}

// NodePlane is a relay node as a Plane.
type NodePlane struct{ *relay.Node }

var _ Plane = NodePlane{}

// Believe judges a certificate.
func (n NodePlane) Believe(ctx context.Context, c *x509.Certificate, want string, cut func(error)) (Link, error) {
	l, err := n.BelievePeer(ctx, c, want, cut)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Options are what the listener and the forwarder work with.
type Options struct {
	// URL is where devices come back to, told where a peer is lost. Where it is empty they take the one they came by.
	URL    string
	Limits Limits
	Log    *slog.Logger
}

// Limits bound what peers can make a node hold and wait for. Use DefaultLimits.
type Limits struct {
	Connections int // of peers to the listener, at a time
	Handshakes  int // of which so many may not be through yet
	Dials       int // of this node, in flight

	Body int64 // bytes of a request's body

	HandshakeTimeout time.Duration // from dialling, or accepting, until the other end is believed
	HeaderTimeout    time.Duration // of a request's header, after the handshake
	AnswerTimeout    time.Duration // until an answer begins, counted from when the request was sent
	ContinueTimeout  time.Duration // until a peer says that it takes a body; then it is sent all the same
	StallTimeout     time.Duration // in which something must move where something is due
	Silence          time.Duration // in which something must move in a WebSocket; devices and nodes ping
	Linger           time.Duration // in which both ends must close once one has
	KeepAlive        time.Duration // of a connection between two requests
	Farewell         time.Duration // in which a device takes the last frame
	FailFast         time.Duration // for which a peer that was not to be reached is not dialled again
	ReconnectWithin  time.Duration // over which the devices of a lost peer come back
}

// DefaultLimits suit a node with some ten thousand devices.
func DefaultLimits() Limits {
	return Limits{
		Connections: 50_000, Handshakes: 1024, Dials: 64, Body: 64 << 20,
		HandshakeTimeout: 5 * time.Second, HeaderTimeout: 5 * time.Second, AnswerTimeout: 10 * time.Second,
		ContinueTimeout: 5 * time.Second, StallTimeout: 30 * time.Second, Silence: 3 * time.Minute, Linger: 10 * time.Second,
		KeepAlive: time.Minute, Farewell: 500 * time.Millisecond, FailFast: time.Second, ReconnectWithin: 10 * time.Second,
	}
}
