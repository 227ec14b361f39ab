package fleet

import (
	"context"
	"time"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// AssignmentsRequest asks for all that concerns the calling node.
type AssignmentsRequest struct {
	Caller identity.Caller
	Known  int64         // the version that the node has; 0 for none
	Wait   time.Duration // how long to wait for another one, at most Settings.MaxWait

	// Still says whether the caller is in force, once whenever a hint woke it for nothing new; nil: it is.
	Still func(context.Context) error
}

// AssignmentsAnswer is all that concerns a node, of one moment.
type AssignmentsAnswer struct {
	Version    int64
	Unchanged  bool                   // the version is the known one; Placements is then empty
	Placements []placement.Assignment // by tenant
}

// Assignments tells a node which tenants it holds, gives up or is to take, read from the primary in one piece.
// Faults: those of Still, as soon as a hint has it asked; Forbidden node_retired; Exhausted too_many_waiters.
func (f *Fleet) Assignments(ctx context.Context, in AssignmentsRequest) (AssignmentsAnswer, error) {
	if err := authorization.Decide(authorization.OpAssignments, placement.RoleStranger, placement.PhaseNone); err != nil {
		return AssignmentsAnswer{}, err
	}
	var out AssignmentsAnswer
	err := f.await(ctx, in.Wait, nodeTopic(in.Caller.Node), in.Still, func(ctx context.Context) (bool, error) {
		err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
			out, err = assignments(ctx, r, in.Caller.Node, in.Known)
			return err
		})
		return !out.Unchanged, err
	})
	if err != nil {
		return AssignmentsAnswer{}, err
	}
	return out, nil
}

func assignments(ctx context.Context, r *store.Roles, id string, known int64) (AssignmentsAnswer, error) {
	node, err := r.Nodes.Get(ctx, id)
	if err != nil {
		return AssignmentsAnswer{}, err
	}
	if err := refuseRetired(node); err != nil {
		return AssignmentsAnswer{}, err
	}
	out := AssignmentsAnswer{Version: node.Record().Assignments}
	if out.Version == known {
		out.Unchanged = true
		return out, nil
	}
	err = store.EachPage(
		func(p store.Page) ([]*placement.Placement, error) { return r.Placements.Concerning(ctx, id, p) }, placementKey,
		func(ps []*placement.Placement) error {
			for _, p := range ps {
				if a, ok := p.AssignmentFor(id); ok {
					out.Placements = append(out.Placements, a)
				}
			}
			return nil
		})
	return out, err
}

func placementKey(p *placement.Placement) string { return p.Record().Tenant }
