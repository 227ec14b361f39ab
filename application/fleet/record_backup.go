package fleet

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// RecordBackupRequest names a verified backup in the backup store.
type RecordBackupRequest struct {
	Caller     identity.Caller
	Ticket     store.Ticket
	Tenant     string
	Generation int64 // of the placement that it was taken at
	Manifest   placement.Manifest
}

// RecordBackup records a backup from the node that holds the placement, never one that ends before a recorded one
// (P11). The same one again is no change.
// Faults: NotFound not_found; Invalid invalid_manifest_root, out_of_range; Conflict generation_stale, backup_older.
func (f *Fleet) RecordBackup(ctx context.Context, in RecordBackupRequest) error {
	return f.commit(ctx, nodeActor(in.Caller), in.Ticket, func(ctx context.Context, w *work) error {
		p, err := entered(ctx, w.Roles, authorization.OpBackupRecord, in.Tenant, in.Caller.Node)
		if err != nil {
			return err
		}
		last, err := w.Backups.Get(ctx, in.Tenant)
		if err != nil {
			return err
		}
		reporter := placement.Reporter{Node: in.Caller.Node, Generation: in.Generation}
		next, err := placement.TakeBackup(last, p, reporter, in.Manifest, w.now)
		if err != nil {
			return err
		}
		if last != nil && last.Generation == next.Generation && last.Manifest == next.Manifest {
			return nil
		}
		if err := w.Backups.Put(ctx, next); err != nil {
			return err
		}
		return w.note(ctx, "backup.recorded", "tenant/"+in.Tenant, manifestDetail(in.Manifest))
	})
}

// entered returns a tenant's placement to a node that the access table lets in (I8).
func entered(ctx context.Context, r *store.Roles, op authorization.Operation, tenant, node string) (*placement.Placement, error) {
	p, err := r.Placements.Get(ctx, tenant)
	if missing(err) {
		return nil, denied(op, err)
	}
	if err != nil {
		return nil, err
	}
	return p, authorization.Decide(op, p.RoleOf(node), p.Phase())
}
