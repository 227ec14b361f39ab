package fleet

import (
	"context"

	"berth/domain/fault"
	"berth/domain/placement"
)

// RetireNode ends a node that is empty: from then on its credentials are worth nothing (I4). One that migrations still
// run away from is not empty, since it has to report the end of its drain.
// Faults: NotFound node_not_found; Conflict node_not_empty, node_retired.
func (f *Fleet) RetireNode(ctx context.Context, in NodeRequest) (placement.Candidate, error) {
	return f.changeNode(ctx, nodeChange{
		actor: in.Actor, node: in.Node, action: "node.retired",
		do: func(ctx context.Context, w *work, c placement.Candidate) error {
			running, err := w.Migrations.RunningFrom(ctx, in.Node)
			if err != nil {
				return err
			}
			if running > 0 {
				return fault.New(fault.Conflict, "node_not_empty", "%d migrations away from node %s have not ended",
					running, in.Node).Curable("wait for them")
			}
			return c.Node.Retire(w.now)
		},
	})
}
