package fleet

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// RecoverRequest asks to move a tenant off a node that is lost (P11).
type RecoverRequest struct {
	Actor          audit.Actor
	Tenant         string
	LostNode       string
	Generation     int64 // of the placement as the operator saw it
	TargetNode     string
	Backup         string // manifest root of the backup that is meant; empty for the last verified one
	AcceptDataLoss bool
}

// Recover begins to move a tenant off a lost node, from its last verified backup, once the node's lease ran out by the
// control plane's own count (P9). The answer and the audit entry name the window of data that is lost.
// Faults: NotFound tenant_not_found, node_not_found; Forbidden data_loss_not_accepted; Conflict tenant_not_placed,
// node_does_not_hold_tenant, generation_stale, lease_not_run_out, no_verified_backup, backup_unknown,
// migration_in_flight, and those of BeginMigration for the target.
func (f *Fleet) Recover(ctx context.Context, in RecoverRequest) (*placement.Migration, error) {
	plan := placement.RecoverPlan{
		ID: f.IDs.New("mig"), LostNode: in.LostNode, Generation: in.Generation, Backup: in.Backup,
		AcceptDataLoss: in.AcceptDataLoss,
	}
	var begun *placement.Migration
	err := f.commit(ctx, in.Actor, store.Ticket{}, func(ctx context.Context, w *work) error {
		ls, err := w.loss(ctx, in.Tenant, in.TargetNode)
		if err != nil {
			return err
		}
		f.doubt(w, ls.Lease)
		begun, err = placement.Recover(plan, ls.Parties, ls.target, ls.Loss, f.Settings.Deadlines, w.now)
		if err != nil {
			return ls.explain(err)
		}
		return w.saveRecover(ctx, ls, begun)
	})
	if err != nil {
		return nil, err
	}
	return begun, nil
}

// loss is every row that a recover reads and changes. Parties.Target is the other node of the migration that ran when
// the node was lost; nil when none did.
type loss struct {
	placement.Parties
	placement.Loss
	target placement.Candidate
}

func (w *work) loss(ctx context.Context, tenant, to string) (*loss, error) {
	p, err := w.placed(ctx, tenant)
	if err != nil {
		return nil, err
	}
	r, ls := p.Record(), &loss{}
	ids := []string{r.Node, to}
	other := ""
	if r.Migration != "" {
		if ls.Prior, err = w.Migrations.Get(ctx, r.Migration); err != nil {
			return nil, err
		}
		other = r.Target
		if other == r.Node {
			other = r.Source
		}
		ids = append(ids, other)
	}
	nodes, err := w.nodes(ctx, ids...)
	if err != nil {
		return nil, at(err, "node_not_found", "target_node")
	}
	ls.Parties = placement.Parties{Placement: p, Source: nodes[r.Node], Target: nodes[other]}
	ls.target.Node = nodes[to]
	leases, err := w.leases(ctx, r.Node, to)
	if err != nil {
		return nil, err
	}
	ls.Lease, ls.target.Lease = leases[r.Node], leases[to]
	ls.Backup, err = w.Backups.Get(ctx, tenant)
	return ls, err
}

// explain tells an operator who has not consented what the consent would be to.
func (ls *loss) explain(err error) error {
	e, ok := fault.As(err)
	if !ok || e.Slug != "data_loss_not_accepted" || ls.Backup == nil {
		return err
	}
	return e.Curable("the last verified backup is of %s and reaches up to sequence %d; say accept_data_loss: true to lose what came after",
		ls.Backup.At.Format(time.RFC3339), ls.Backup.Manifest.LastSequence)
}

func (w *work) saveRecover(ctx context.Context, ls *loss, m *placement.Migration) error {
	if err := w.Migrations.Create(ctx, m); err != nil {
		return err
	}
	if ls.Prior != nil {
		if err := w.Migrations.Save(ctx, ls.Prior); err != nil {
			return err
		}
		w.hint(migrationTopic(ls.Prior.Record().ID))
	}
	if ls.Target != nil {
		w.hint(nodeTopic(ls.Target.Record().ID))
	}
	if err := w.saveParties(ctx, ls.Placement, ls.Source, ls.Target, ls.target.Node); err != nil {
		return err
	}
	return w.tell(ctx, m, "migration.recover_begun", map[string]string{
		"lost_node": m.Record().Source, "accept_data_loss": "true",
		"last_backup_at": ls.Backup.At.Format(time.RFC3339Nano), "manifest_root": ls.Backup.Manifest.Root,
		"last_sequence": strconv.FormatInt(ls.Backup.Manifest.LastSequence, 10),
	})
}

// leases loads the leases of nodes in the order of their ids, each once.
func (w *work) leases(ctx context.Context, ids ...string) (map[string]*placement.Lease, error) {
	out := map[string]*placement.Lease{}
	for _, id := range ids {
		out[id] = nil
	}
	for _, id := range slices.Sorted(maps.Keys(out)) {
		l, err := w.Leases.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		out[id] = l
	}
	return out, nil
}
