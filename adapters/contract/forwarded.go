package contract

import "context"

// ForwardedGeneration is the header in which a node tells its peer at which generation it believes the peer to hold the
// tenant (R3). It is believed on the peers' listener only.
const ForwardedGeneration = "Berth-Forwarded-Generation"

// Forwarded says that a request came from a peer, which had verified nothing for it: the owner verifies the token itself.
type Forwarded struct {
	Node       string // of the certificate that the peer showed
	Generation int64  // of the tenant's placement, as the peer believes it
}

type forwardedKey struct{}

// WithForwarded marks a request as one that came from a peer, and is never forwarded again (R3).
func WithForwarded(ctx context.Context, f Forwarded) context.Context {
	return context.WithValue(ctx, forwardedKey{}, f)
}

// ForwardedIn says whether a request came from a peer.
func ForwardedIn(ctx context.Context) (Forwarded, bool) {
	f, ok := ctx.Value(forwardedKey{}).(Forwarded)
	return f, ok
}
