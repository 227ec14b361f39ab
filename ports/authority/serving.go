package authority

import (
	"context"
	"time"

	"berth/ports/tokens"
)

// Keys is how a node learns by which keys devices' tokens are verified (A7, I6).
type Keys interface {
	// Keys answers every key that verifies now, with its window.
	Keys(ctx context.Context) (tokens.KeySet, error)
}

// Revocations passes on a revoke that a device asked for (A5).
type Revocations interface {
	// Revoke returns once the revoke is committed, with the revision that carries it; repeating it answers the same.
	// Faults: NotFound principal_not_found, and for a tenant that the node does not hold; Conflict generation_stale,
	// generation_ahead, last_owner; Forbidden revoke_not_allowed.
	Revoke(ctx context.Context, r Revoke) (revision int64, err error)
}

// Revoke is what a device asked for.
type Revoke struct {
	Tenant     string
	Generation int64  // of the placement
	Principal  string // to revoke
	AskedBy    string // the principal who asks
}

// Peers is how a node learns which nodes it may believe (R3).
type Peers interface {
	// Peers answers the certificates in force of every node, of one moment each page.
	Peers(ctx context.Context) ([]Peer, error)
}

// Peer is one certificate in force.
type Peer struct {
	Node        string
	SPIFFEID    string
	Fingerprint string // as identity.FingerprintOf has it
	ExpiresAt   time.Time
}

// Routes is how a node learns where a tenant's connections go (R3).
type Routes interface {
	// Route answers the node that holds a tenant's placement. Fault: NotFound not_found.
	Route(ctx context.Context, tenant string) (Route, error)
}

// Route is where a tenant's connections go.
type Route struct {
	Tenant     string
	Node       string
	Generation int64
	Version    int64  // of the placement: a route of a lower one is never accepted (P15)
	Address    string // host:port of the node's listener for peers; may be empty
	SPIFFEID   string // that its certificate must name
}
