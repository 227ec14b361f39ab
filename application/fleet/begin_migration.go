package fleet

import (
	"context"

	"berth/domain/audit"
	"berth/domain/placement"
	"berth/ports/store"
)

// BeginMigrationRequest asks to move a tenant.
type BeginMigrationRequest struct {
	Actor      audit.Actor
	Tenant     string
	TargetNode string
	Rehome     string // the target's region, when it is not the tenant's home (P2)
}

// BeginMigration begins to prepare a move (P2): writes go on, room on the target is reserved.
// Faults: NotFound tenant_not_found, node_not_found; Conflict tenant_not_placed, migration_in_flight, target_is_source,
// target_not_available, target_full, target_in_another_region; Invalid rehome_mismatch.
func (f *Fleet) BeginMigration(ctx context.Context, in BeginMigrationRequest) (*placement.Migration, error) {
	id := f.IDs.New("mig")
	var begun *placement.Migration
	err := f.commit(ctx, in.Actor, store.Ticket{}, func(ctx context.Context, w *work) error {
		p, err := w.placed(ctx, in.Tenant)
		if err != nil {
			return err
		}
		begun, err = f.begin(ctx, w, p, placement.Plan{ID: id, Rehome: in.Rehome}, in.TargetNode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return begun, nil
}

// begin prepares the move of a placement to a node.
func (f *Fleet) begin(ctx context.Context, w *work, p *placement.Placement, plan placement.Plan, to string,
) (*placement.Migration, error) {
	source := p.Record().Node
	nodes, err := w.nodes(ctx, source, to)
	if err != nil {
		return nil, at(err, "node_not_found", "target_node")
	}
	lease, err := w.Leases.Get(ctx, to)
	if err != nil {
		return nil, err
	}
	target := placement.Candidate{Node: nodes[to], Lease: lease}
	m, err := placement.Prepare(plan, p, nodes[source], target, f.Settings.Deadlines, w.now)
	if err != nil {
		return nil, err
	}
	if err := w.Migrations.Create(ctx, m); err != nil {
		return nil, err
	}
	if err := w.saveParties(ctx, p, nodes[source], nodes[to]); err != nil {
		return nil, err
	}
	return m, w.tell(ctx, m, "migration.begun", nil)
}
