package relay

import (
	"context"
	"time"

	"berth/domain/fault"
	"berth/ports/authority"
	"berth/ports/tokens"
)

// verifier checks devices' tokens by the keys that are in force, without asking anybody (A7).
type verifier interface {
	verify(token string) (tokens.DeviceToken, error)
	// ended says of the keys that are in force now which one is not.
	ended(wall time.Time) func(key string) bool
}

// router says where tenants are served (R3).
type router interface {
	locate(ctx context.Context, tenant string, forwarded *int64) (Where, error)
}

// Where is where a tenant is to be served.
type Where struct {
	Here bool
	To   authority.Route // where not here
}

// Authenticate verifies a token offline: signature, key window, region and times (A7).
// Faults: Unauthenticated, by the slugs of ports/tokens; Unavailable keys_unknown, keys_stale.
func (n *Node) Authenticate(token string) (Device, error) {
	t, err := n.verifier.verify(token)
	if err != nil {
		return Device{}, n.refused(err)
	}
	return Device{Tenant: t.Tenant, Principal: t.Principal, TokenID: t.ID, Key: t.KID, ExpiresAt: t.ExpiresAt}, nil
}

// stands says whether a token that was verified would be still: what began by it goes no further than it does (A7, I6).
// Faults: Unauthenticated device_token_expired, device_token_key_retired.
func (n *Node) stands(d Device) error {
	switch wall := n.keeper.now(); {
	case !wall.Before(d.ExpiresAt):
		return errExpired()
	case n.verifier.ended(wall)(d.Key):
		return errKeyEnded()
	}
	return nil
}

// Locate says whether the tenant is to be served here, or by which peer (R3). A connection that a peer forwarded, believing
// this node to hold the tenant at a generation, is never sent elsewhere.
// Faults: Unavailable not_holder, and others where nobody knows; NotFound where there is no such tenant.
func (n *Node) Locate(ctx context.Context, tenant string, forwarded *int64) (Where, error) {
	return n.router.locate(ctx, tenant, forwarded)
}

// alone is the plane of a node that knows neither keys nor peers.
type alone struct{}

func (alone) verify(string) (tokens.DeviceToken, error) {
	return tokens.DeviceToken{}, fault.New(fault.Unavailable, "keys_unknown", "the node was not told by which keys tokens are verified")
}

func (alone) ended(time.Time) func(string) bool { return func(string) bool { return false } }

func (alone) locate(context.Context, string, *int64) (Where, error) { return Where{Here: true}, nil }
