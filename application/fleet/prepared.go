package fleet

import (
	"context"

	"berth/domain/authorization"
)

// PreparedRequest says that a node copied (source) or installed (target) the base ahead.
type PreparedRequest struct {
	Report
	BaseSequence int64
}

// Prepared takes the word of source or target; once both gave it, the same transaction quiesces (P2).
// Faults: NotFound not_found; Conflict generation_stale; Invalid out_of_range.
func (f *Fleet) Prepared(ctx context.Context, in PreparedRequest) error {
	return f.report(ctx, in.Report, authorization.OpPrepared, func(ctx context.Context, w *work, mv *move) error {
		both, err := mv.migration.Prepared(mv.Parties, in.reporter(), in.BaseSequence, w.now)
		if err != nil {
			return err
		}
		if both {
			if err := mv.migration.Quiesce(mv.Parties, f.Settings.Deadlines, w.now); err != nil {
				return err
			}
		}
		return w.save(ctx, mv, "migration.prepared", nil)
	})
}
