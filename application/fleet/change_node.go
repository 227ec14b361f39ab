package fleet

import (
	"context"
	"strconv"

	"berth/domain/audit"
	"berth/domain/placement"
)

// ChangeNodeRequest changes what an operator set; what is nil stays.
type ChangeNodeRequest struct {
	Actor       audit.Actor
	Node        string
	Schedulable *bool // false cordons: the node takes nothing new and keeps what it has
	Capacity    *placement.Capacity
}

// ChangeNode cordons, uncordons or resizes a node. A request that names no change returns the node as it is.
// Faults: NotFound node_not_found; Invalid out_of_range; Conflict node_retired.
func (f *Fleet) ChangeNode(ctx context.Context, in ChangeNodeRequest) (placement.Candidate, error) {
	if in.Schedulable == nil && in.Capacity == nil {
		return f.Node(ctx, in.Node)
	}
	detail := map[string]string{}
	if in.Capacity != nil {
		detail = capacityDetail(*in.Capacity)
	}
	if in.Schedulable != nil {
		detail["schedulable"] = strconv.FormatBool(*in.Schedulable)
	}
	return f.changeNode(ctx, nodeChange{
		actor: in.Actor, node: in.Node, action: "node.changed", detail: detail,
		do: func(_ context.Context, w *work, c placement.Candidate) error {
			if in.Capacity != nil {
				if err := c.Node.SetCapacity(*in.Capacity, w.now); err != nil {
					return err
				}
			}
			if in.Schedulable != nil {
				return c.Node.SetSchedulable(*in.Schedulable, w.now)
			}
			return nil
		},
	})
}
