package fleet

import (
	"context"
	"strconv"

	"berth/domain/authorization"
	"berth/domain/placement"
)

// QuiescedRequest says that the source's Engine refuses and drained every write, and what the snapshot behind the fence
// is (P3). The generation is the one that it was serving.
type QuiescedRequest struct {
	Report
	Manifest placement.Manifest
}

// Quiesced takes the source's word. A manifest that ends before a recorded backup is refused, since the source then lost
// writes that it had (P11). The same report again is no change.
// Faults: NotFound not_found; Invalid out_of_range, invalid_manifest_root; Conflict generation_stale,
// manifest_root_differs, last_sequence_differs, backup_older.
func (f *Fleet) Quiesced(ctx context.Context, in QuiescedRequest) error {
	return f.report(ctx, in.Report, authorization.OpQuiesced, func(ctx context.Context, w *work, mv *move) error {
		if err := mv.migration.Quiesced(mv.Parties, in.reporter(), in.Manifest, f.Settings.Deadlines, w.now); err != nil {
			return err
		}
		if !mv.changed() {
			return nil
		}
		last, err := w.Backups.Get(ctx, mv.loaded.Tenant)
		if err != nil {
			return err
		}
		if _, err := placement.TakeBackup(last, mv.Placement, in.reporter(), in.Manifest, w.now); err != nil {
			return err
		}
		return w.save(ctx, mv, "migration.quiesced", manifestDetail(in.Manifest))
	})
}

// backUp records the migration's manifest as the tenant's backup, where all of it is in the backup store by now (P11).
func (w *work) backUp(ctx context.Context, m *placement.Migration) error {
	if b := m.Backup(); b != nil {
		return w.Backups.Put(ctx, *b)
	}
	return nil
}

func manifestDetail(m placement.Manifest) map[string]string {
	return map[string]string{"manifest_root": m.Root, "last_sequence": strconv.FormatInt(m.LastSequence, 10)}
}
