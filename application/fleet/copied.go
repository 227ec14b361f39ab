package fleet

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
)

// CopiedRequest says that the target verified and durably installed exactly this manifest (P4).
type CopiedRequest struct {
	Report
	Manifest placement.Manifest
}

// Copied takes the target's word, records the manifest as the tenant's backup (P11), and carries the migration over the
// switch in a second transaction (P5). If only that one fails the answer is success all the same, and SweepMigrations
// does it. A difference to what the source reported refuses the step, and that is kept. The same report again is no
// change.
// Faults: NotFound not_found; Invalid invalid_manifest_root, out_of_range; Conflict generation_stale,
// manifest_root_differs, last_sequence_differs, migration_superseded.
func (f *Fleet) Copied(ctx context.Context, in CopiedRequest) error {
	var refused error
	var state placement.Phase
	err := f.report(ctx, in.Report, authorization.OpCopied, func(ctx context.Context, w *work, mv *move) error {
		refused = mv.migration.Copied(mv.Parties, in.reporter(), in.Manifest, w.now)
		state = mv.migration.Record().State
		switch {
		case refused != nil && mv.changed():
			return w.keepRefusal(ctx, mv, in.Manifest, refused)
		case refused != nil || !mv.changed():
			return refused
		}
		if err := w.backUp(ctx, mv.migration); err != nil {
			return err
		}
		return w.save(ctx, mv, "migration.copied", manifestDetail(in.Manifest))
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return err
	}
	if state == placement.PhaseSwitching {
		_ = f.settle(ctx, in.Migration, "copied") // the sweep does it where this did not
	}
	return nil
}

// keepRefusal stores why a step was refused. Nothing but the migration's notes changed.
func (w *work) keepRefusal(ctx context.Context, mv *move, m placement.Manifest, why error) error {
	if err := w.Migrations.Save(ctx, mv.migration); err != nil {
		return err
	}
	detail := manifestDetail(m)
	detail["reason"] = fault.SlugOf(why)
	return w.tell(ctx, mv.migration, "migration.copied_refused", detail)
}
