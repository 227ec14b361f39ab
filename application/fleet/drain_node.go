package fleet

import (
	"context"

	"berth/domain/audit"
	"berth/domain/placement"
)

// NodeRequest is an operator's wish about one node.
type NodeRequest struct {
	Actor audit.Actor
	Node  string
}

// DrainNode begins to empty a node (P12): it takes nothing any more, and SweepDrains moves its tenants.
// Faults: NotFound node_not_found; Conflict node_status_conflict, node_retired.
func (f *Fleet) DrainNode(ctx context.Context, in NodeRequest) (placement.Candidate, error) {
	return f.changeNode(ctx, nodeChange{
		actor: in.Actor, node: in.Node, action: "node.drain_begun",
		do: func(_ context.Context, w *work, c placement.Candidate) error { return c.Node.Drain(w.now) },
	})
}
