package fleet

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/ports/store"
)

// RouteRequest asks where a tenant's connections go.
type RouteRequest struct {
	Caller identity.Caller
	Tenant string
}

// RouteAnswer is the node that holds a tenant's placement.
type RouteAnswer struct {
	Node        string
	Generation  int64
	Version     int64  // of the placement (P15)
	PeerAddress string // host:port, as the node gave it at its last registration
	SPIFFEID    string // what its certificate must name (R3)
}

// Route tells any node where to forward a tenant's connections. Fault: NotFound not_found.
func (f *Fleet) Route(ctx context.Context, in RouteRequest) (RouteAnswer, error) {
	var out RouteAnswer
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		p, err := entered(ctx, r, authorization.OpRoute, in.Tenant, in.Caller.Node)
		if err != nil {
			return err
		}
		at := p.Record()
		c, err := candidate(ctx, r, at.Node)
		if err != nil {
			return err
		}
		id, err := identity.RelayID(f.Settings.TrustDomain, c.Node.Record().Region, at.Node)
		out = RouteAnswer{
			Node: at.Node, Generation: at.Generation, Version: at.Version,
			PeerAddress: c.Lease.Record().Advertise, SPIFFEID: id.String(),
		}
		return err
	})
	if err != nil {
		return RouteAnswer{}, err
	}
	return out, nil
}
