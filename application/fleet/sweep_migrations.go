package fleet

import (
	"context"
	"errors"
	"fmt"

	"berth/domain/placement"
	"berth/ports/store"
)

// SweepMigrations carries every running migration on that is owed a step: over the switch after a crash (P5), into
// quiescing once prepared (P2), to its end once a deadline passed (P6, P7). Each is a transaction of its own; one that
// fails stops no other, and what failed is returned.
func (f *Fleet) SweepMigrations(ctx context.Context) error {
	var errs []error
	err := store.EachPage(
		func(p store.Page) ([]*placement.Migration, error) { return f.running(ctx, p) }, migrationKey,
		func(page []*placement.Migration) error {
			for _, m := range page {
				// That a draining source is fenced is looked up in the transaction; until then it is taken to be.
				if m.Due(f.Settings.Deadlines, false, f.Clock.Now()) == placement.Wait {
					continue
				}
				if err := f.settle(ctx, migrationKey(m), "migrations"); err != nil {
					errs = append(errs, fmt.Errorf("migration %s: %w", migrationKey(m), err))
				}
			}
			return ctx.Err()
		})
	return errors.Join(append(errs, err)...)
}

func (f *Fleet) running(ctx context.Context, p store.Page) (page []*placement.Migration, err error) {
	err = f.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		page, err = r.Migrations.Running(ctx, p)
		return err
	})
	return page, err
}
