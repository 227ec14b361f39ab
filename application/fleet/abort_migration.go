package fleet

import (
	"context"

	"berth/domain/audit"
	"berth/domain/placement"
	"berth/ports/store"
)

// AbortMigrationRequest asks to end a migration of a tenant.
type AbortMigrationRequest struct {
	Actor     audit.Actor
	Tenant    string
	Migration string
}

// AbortMigration returns the tenant to its source at the same generation (P6). One that is aborted already is returned
// as it is. Faults: NotFound migration_not_found; Conflict migration_state_conflict once it passed the switch,
// migration_superseded once it ended otherwise.
func (f *Fleet) AbortMigration(ctx context.Context, in AbortMigrationRequest) (*placement.Migration, error) {
	var aborted *placement.Migration
	err := f.commit(ctx, in.Actor, store.Ticket{}, func(ctx context.Context, w *work) (err error) {
		if aborted, err = migrationOf(ctx, w.Roles, in.Tenant, in.Migration); err != nil {
			return err
		}
		if aborted.Record().State == placement.PhaseAborted {
			return nil
		}
		mv, err := w.around(ctx, aborted)
		if err != nil {
			return err
		}
		if err := aborted.Abort(mv.Parties, "asked for by "+string(in.Actor.Kind)+" "+in.Actor.ID, w.now); err != nil {
			return err
		}
		return w.save(ctx, mv, "migration.aborted", nil)
	})
	if err != nil {
		return nil, err
	}
	return aborted, nil
}
