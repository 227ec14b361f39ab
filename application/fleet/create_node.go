package fleet

import (
	"context"

	"berth/domain/audit"
	"berth/domain/placement"
	"berth/ports/store"
)

// CreateNodeRequest defines a relay node.
type CreateNodeRequest struct {
	Actor    audit.Actor
	ID       string
	Region   string
	Capacity placement.Capacity // the operator's limit
}

// CreateNode adds a node that has yet to join, and its lease, which counts as lapsed.
// Faults: Invalid invalid_id, out_of_range; NotFound region_not_found; AlreadyExists node_exists.
func (f *Fleet) CreateNode(ctx context.Context, in CreateNodeRequest) (placement.Candidate, error) {
	var made placement.Candidate
	err := f.commit(ctx, in.Actor, store.Ticket{}, func(ctx context.Context, w *work) error {
		node, err := placement.NewNode(in.ID, in.Region, in.Capacity, w.now)
		if err != nil {
			return err
		}
		made = placement.Candidate{Node: node, Lease: placement.NewLease(in.ID)}
		if _, err := w.Regions.Get(ctx, in.Region); err != nil {
			return at(err, "region_not_found", "region")
		}
		if err := w.Nodes.Create(ctx, node); err != nil {
			return err
		}
		if err := w.Leases.Create(ctx, made.Lease); err != nil {
			return err
		}
		detail := capacityDetail(in.Capacity)
		detail["region"] = in.Region
		return w.note(ctx, "node.created", "node/"+in.ID, detail)
	})
	return made, err
}
