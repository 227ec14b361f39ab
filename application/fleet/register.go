package fleet

import (
	"context"
	"strconv"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// RegisterRequest is what a node's process says of itself when it starts.
type RegisterRequest struct {
	Caller identity.Caller
	Ticket store.Ticket
	placement.Registration
}

// Register gives the process of a node its heartbeat generation (P10). The latest process that asks again is given the
// same; it grants no lease. Faults: Invalid invalid_text; Forbidden node_retired; Conflict storage_changed.
func (f *Fleet) Register(ctx context.Context, in RegisterRequest) (generation int64, err error) {
	err = f.commit(ctx, nodeActor(in.Caller), in.Ticket, func(ctx context.Context, w *work) error {
		if err := authorization.Decide(authorization.OpRegister, placement.RoleStranger, placement.PhaseNone); err != nil {
			return err
		}
		c, err := candidate(ctx, w.Roles, in.Caller.Node)
		if err != nil {
			return err
		}
		if err := refuseRetired(c.Node); err != nil {
			return err
		}
		before := c.Lease.Record()
		if generation, err = c.Lease.Register(in.Registration, w.now); err != nil {
			return err
		}
		if c.Lease.Record() == before {
			return nil
		}
		return w.saveRegistered(ctx, c)
	})
	if err != nil {
		return 0, err
	}
	return generation, nil
}

func (w *work) saveRegistered(ctx context.Context, c placement.Candidate) error {
	if err := c.Node.Registered(w.now); err != nil {
		return err
	}
	if err := w.Nodes.Save(ctx, c.Node); err != nil {
		return err
	}
	if err := w.Leases.Save(ctx, c.Lease); err != nil {
		return err
	}
	l := c.Lease.Record()
	w.hint(nodeTopic(l.Node))
	return w.note(ctx, "node.registered", "node/"+l.Node, map[string]string{
		"generation": strconv.FormatInt(l.Generation, 10), "storage": l.StorageID, "version": l.Version,
		"advertise": l.Advertise,
	})
}

func refuseRetired(n *placement.Node) error {
	if n.Record().Status == placement.NodeRetired {
		return fault.New(fault.Forbidden, "node_retired", "node %s is retired", n.Record().ID)
	}
	return nil
}
