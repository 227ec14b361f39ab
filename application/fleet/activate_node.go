package fleet

import (
	"context"

	"berth/domain/placement"
)

// ActivateNode stops a drain (P12): what was not moved yet stays, and migrations that run are carried to their end.
// Faults: NotFound node_not_found; Conflict node_status_conflict, node_retired.
func (f *Fleet) ActivateNode(ctx context.Context, in NodeRequest) (placement.Candidate, error) {
	return f.changeNode(ctx, nodeChange{
		actor: in.Actor, node: in.Node, action: "node.activated",
		do: func(_ context.Context, w *work, c placement.Candidate) error { return c.Node.Activate(w.now) },
	})
}
