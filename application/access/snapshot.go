package access

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// SnapshotRequest asks for all that a node is told of a tenant.
type SnapshotRequest struct {
	Caller     identity.Caller
	Tenant     string
	Generation int64 // of the placement as the node knows it
}

// SnapshotAnswer is all that a node is told of a tenant, read in one view of the primary, and where the tenant stands.
type SnapshotAnswer struct {
	authorization.Snapshot
	Node  string // the holder
	State placement.State
}

// Snapshot answers the node that holds the placement, and the target of a migration while it switches; to the latter
// nothing is writable (A2). A holder that asks with an old generation is told the current one by being answered at it:
// the answer says which that is, and a node takes none that is older than what it knows. A generation that was never
// given is refused: either side then came back from an older backup.
// Faults: Invalid out_of_range; NotFound not_found; Conflict generation_ahead.
func (a *Access) Snapshot(ctx context.Context, in SnapshotRequest) (SnapshotAnswer, error) {
	if f := ident.Counter("generation", in.Generation); f != nil {
		return SnapshotAnswer{}, f
	}
	var out SnapshotAnswer
	err := a.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		s, err := entered(ctx, r, authorization.OpSnapshot, in.Tenant, in.Caller.Node)
		if err != nil {
			return err
		}
		at := s.Placement.Record()
		err = authorization.CheckGeneration(in.Generation, at.Generation)
		if err != nil && fault.SlugOf(err) != "generation_stale" {
			return err
		}
		out, err = snapshot(ctx, r, s, in.Caller.Node)
		return err
	})
	if err != nil {
		return SnapshotAnswer{}, err
	}
	return out, nil
}

func snapshot(ctx context.Context, r *store.Roles, s store.Standing, node string) (SnapshotAnswer, error) {
	lease, err := r.Leases.Get(ctx, node)
	if err != nil {
		return SnapshotAnswer{}, err
	}
	tenant := s.Tenant.ID()
	principals, err := principalsOf(ctx, r, tenant)
	if err != nil {
		return SnapshotAnswer{}, err
	}
	handles, err := r.Handles.OfTenant(ctx, tenant)
	if err != nil {
		return SnapshotAnswer{}, err
	}
	routes, err := routesOf(ctx, r, tenant)
	if err != nil {
		return SnapshotAnswer{}, err
	}
	at := s.Placement.Record()
	full, err := s.Tenant.Snapshot(authorization.Place{
		Generation: at.Generation, Version: at.Version, LeaseEpoch: lease.Record().Epoch,
		Role: s.Placement.RoleOf(node), Phase: s.Placement.Phase(),
	}, principals, handles, routes)
	return SnapshotAnswer{Snapshot: full, Node: at.Node, State: at.State}, err
}

func principalsOf(ctx context.Context, r *store.Roles, tenant string) ([]*authorization.Principal, error) {
	return store.All(func(p store.Page) ([]*authorization.Principal, error) { return r.Principals.OfTenant(ctx, tenant, p) },
		principalKey)
}

func routesOf(ctx context.Context, r *store.Roles, tenant string) ([]authorization.Route, error) {
	return store.All(func(p store.Page) ([]authorization.Route, error) { return r.Routes.OfTenant(ctx, tenant, p) }, routeKey)
}

func principalKey(p *authorization.Principal) string { return p.Record().ID }

func routeKey(r authorization.Route) string { return r.Record().ID }
