package connect

import (
	"context"

	"berth/application/relay"
	"berth/ports/authority"
)

// Of is a node as the plane.
func Of(n *relay.Node) Plane { return node{n} }

type node struct{ *relay.Node }

// Enter is Plane's.
func (n node) Enter(ctx context.Context, d relay.Device, l relay.Line) (Session, error) {
	s, err := n.Node.Enter(ctx, d, l)
	if err != nil {
		return nil, err // and no session that is not nil, holding one that is
	}
	return s, nil
}

// Relocate is Plane's.
func (n node) Relocate(ctx context.Context, refused authority.Route) (relay.Where, error) {
	n.RouteRefused(refused)
	return n.Locate(ctx, refused.Tenant, nil)
}

// Files is Plane's.
func (n node) Files(ctx context.Context, d relay.Device) (Files, error) {
	f, err := n.Node.Files(ctx, d)
	if err != nil {
		return nil, err
	}
	return f, nil
}
