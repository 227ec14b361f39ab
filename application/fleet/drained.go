package fleet

import (
	"context"

	"berth/domain/authorization"
)

// DrainedRequest says that the source closed its last connection and sealed its copy (P7). It carries the generation
// after the switch.
type DrainedRequest struct{ Report }

// Drained takes the source's word and ends the migration. The same report again is no change.
// Faults: NotFound not_found; Invalid out_of_range; Conflict generation_stale, migration_superseded.
func (f *Fleet) Drained(ctx context.Context, in DrainedRequest) error {
	return f.report(ctx, in.Report, authorization.OpDrained, func(ctx context.Context, w *work, mv *move) error {
		if err := mv.migration.Drained(mv.Parties, in.reporter(), w.now); err != nil {
			return err
		}
		return w.save(ctx, mv, "migration.drained", nil)
	})
}
