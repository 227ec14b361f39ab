package fleet

import (
	"context"

	"berth/domain/placement"
)

// ReplaceStorage lets another data directory register as the node (P10), after the disk of the node is gone for good.
// The node has to be empty and its lease over. Faults: NotFound node_not_found; Conflict node_not_empty,
// lease_not_run_out, node_retired.
func (f *Fleet) ReplaceStorage(ctx context.Context, in NodeRequest) (placement.Candidate, error) {
	return f.changeNode(ctx, nodeChange{
		actor: in.Actor, node: in.Node, action: "node.storage_replaced",
		do: func(ctx context.Context, w *work, c placement.Candidate) error {
			f.doubt(w, c.Lease)
			if err := c.ReplaceStorage(); err != nil {
				return err
			}
			return w.Leases.Save(ctx, c.Lease)
		},
	})
}
