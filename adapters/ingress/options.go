package ingress

import (
	"crypto/tls"
	"log/slog"
	"time"

	"berth/adapters/ingress/upstream"
	"berth/domain/identity"
	"berth/ports/clock"
	"berth/ports/ids"
)

// Options are what an ingress works with.
type Options struct {
	TrustDomain string
	Trust       *Trust
	Certificate func() *tls.Certificate        // the server's own, asked at each handshake
	Secrets     func() identity.IngressSecrets // asked for each request; the first one seals
	Upstream    *upstream.Upstream
	Limits      Limits
	AccessLog   AccessLog
	Log         *slog.Logger
	Clock       clock.Clock
	IDs         ids.Source
	Metrics     *Metrics
}

// Limits bound what clients can make the ingress hold. Use DefaultLimits and change what is to differ.
type Limits struct {
	Connections        int     // at a time, handshakes included
	ConnectionsPerNode int     // of one SPIFFE id
	Handshakes         int     // in flight
	BodyMemory         int64   // bytes of bodies that were read and not yet answered
	BodyMemoryPerNode  int64   // of one SPIFFE id: a few nodes that hold much take no beat from the others
	NodeRate           float64 // requests a second of one SPIFFE id
	NodeBurst          int

	HandshakeTimeout time.Duration
	HeaderTimeout    time.Duration // of a request line and header
	BodyTimeout      time.Duration // of a request body
	WriteTimeout     time.Duration // of each piece of an answer: a reader that takes nothing for so long is cut off
	IdleTimeout      time.Duration // of a connection between two requests
	TunnelIdle       time.Duration // of a tunnel in which nothing moves
}

// DefaultLimits suit a fleet of some thousand nodes.
func DefaultLimits() Limits {
	return Limits{
		Connections: 10_000, ConnectionsPerNode: 64, Handshakes: 512, BodyMemory: 256 << 20, BodyMemoryPerNode: 16 << 20,
		NodeRate: 2000, NodeBurst: 4000,
		HandshakeTimeout: 5 * time.Second, HeaderTimeout: 5 * time.Second, BodyTimeout: 15 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, TunnelIdle: 5 * time.Minute,
	}
}
