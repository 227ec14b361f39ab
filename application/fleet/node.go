package fleet

import (
	"context"
	"strconv"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// Node returns a node with its lease. Fault: NotFound node_not_found.
func (f *Fleet) Node(ctx context.Context, id string) (placement.Candidate, error) {
	var c placement.Candidate
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		c, err = candidate(ctx, r, id)
		return err
	})
	return c, err
}

func candidate(ctx context.Context, r *store.Roles, id string) (placement.Candidate, error) {
	node, err := r.Nodes.Get(ctx, id)
	if err != nil {
		return placement.Candidate{}, err
	}
	lease, err := r.Leases.Get(ctx, id)
	return placement.Candidate{Node: node, Lease: lease}, err
}

// nodeChange is an operator's change of one node.
type nodeChange struct {
	actor  audit.Actor
	node   string
	action string
	detail map[string]string
	do     func(context.Context, *work, placement.Candidate) error
}

// changeNode lets an operator change a node that is not retired. It leaves the lease alone, which beats write.
func (f *Fleet) changeNode(ctx context.Context, in nodeChange) (placement.Candidate, error) {
	var c placement.Candidate
	err := f.commit(ctx, in.actor, store.Ticket{}, func(ctx context.Context, w *work) (err error) {
		if c, err = candidate(ctx, w.Roles, in.node); err != nil {
			return err
		}
		if c.Node.Record().Status == placement.NodeRetired {
			return fault.New(fault.Conflict, "node_retired", "node %s is retired", in.node).
				Curable("define a node under another id")
		}
		if err := in.do(ctx, w, c); err != nil {
			return err
		}
		if err := w.Nodes.Save(ctx, c.Node); err != nil {
			return err
		}
		w.hint(nodeTopic(in.node))
		return w.note(ctx, in.action, "node/"+in.node, in.detail)
	})
	if err != nil {
		return placement.Candidate{}, err
	}
	return c, nil
}

func capacityDetail(c placement.Capacity) map[string]string {
	return map[string]string{
		"capacity.tenants": strconv.FormatInt(c.Tenants, 10), "capacity.bytes": strconv.FormatInt(c.Bytes, 10),
	}
}
