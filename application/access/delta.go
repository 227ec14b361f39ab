package access

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/identity"
	"berth/ports/store"
)

// DeltaRequest asks for what changed of a tenant.
type DeltaRequest struct {
	Caller     identity.Caller
	Tenant     string
	Generation int64 // of the placement as the node knows it
	Since      int64 // the revision that the node has
}

// DeltaAnswer is what changed, and the version of the placement at which it was read.
type DeltaAnswer struct {
	authorization.Delta
	PlacementVersion int64
}

// Delta answers what changed after a revision to the node that holds the placement (A3).
// Faults: Invalid out_of_range; NotFound not_found; Conflict generation_stale, which tells the holder the current
// generation, generation_ahead; Gone delta_unavailable, after which a full snapshot is due.
func (a *Access) Delta(ctx context.Context, in DeltaRequest) (DeltaAnswer, error) {
	if err := fault.All(ident.Counter("generation", in.Generation), ident.Counter("since", in.Since)); err != nil {
		return DeltaAnswer{}, err
	}
	var out DeltaAnswer
	err := a.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		s, err := entered(ctx, r, authorization.OpDelta, in.Tenant, in.Caller.Node)
		if err != nil {
			return err
		}
		if err := authorization.CheckGeneration(in.Generation, s.Placement.Record().Generation); err != nil {
			return err
		}
		out, err = delta(ctx, r, s, in.Since, authorization.MaxDelta+1)
		return err
	})
	if err != nil {
		return DeltaAnswer{}, err
	}
	return out, nil
}

// delta reads at most so many changes; a log that is cut short is no delta.
func delta(ctx context.Context, r *store.Roles, s store.Standing, from int64, most int) (DeltaAnswer, error) {
	var log []authorization.Change
	head := s.Tenant.Record()
	if from >= head.Floor && from < head.Revision {
		var err error
		if log, err = r.Changes.Since(ctx, head.ID, from, most); err != nil {
			return DeltaAnswer{}, err
		}
	}
	at := s.Placement.Record()
	d, err := authorization.DeltaSince(s.Tenant, at.Generation, from, log)
	if err != nil {
		return DeltaAnswer{}, err
	}
	return DeltaAnswer{Delta: d, PlacementVersion: at.Version}, nil
}
