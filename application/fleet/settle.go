package fleet

import (
	"context"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// settle does what the control plane owes a migration now, if anything, in a transaction that decides it (P2, P5–P7).
// Of several that do so at once one does it, and the others find nothing owed.
func (f *Fleet) settle(ctx context.Context, id, source string) error {
	return f.commit(ctx, itself(source), store.Ticket{}, func(ctx context.Context, w *work) error {
		m, err := w.Migrations.Get(ctx, id)
		if err != nil || m.Ended() {
			return err
		}
		mv, err := w.around(ctx, m)
		if err != nil {
			return err
		}
		lease, err := w.sourceLease(ctx, m)
		if err != nil {
			return err
		}
		if lease != nil {
			f.doubt(w, lease)
		}
		switch m.Due(f.Settings.Deadlines, lease == nil || lease.Live(), w.now) {
		case placement.Wait:
			return nil
		case placement.DoQuiesce:
			return f.quiesce(ctx, w, mv)
		case placement.DoSwitch:
			return f.switchOver(ctx, w, mv)
		case placement.DoFail:
			return w.fail(ctx, mv)
		case placement.DoEndDrain:
			return w.endDrain(ctx, mv, lease)
		}
		return fault.New(fault.Internal, "action_unknown", "migration %s is owed something unknown", id)
	})
}

// sourceLease is the lease of the source while it matters, that is while draining; nil before, so that migrations do
// not contend with heartbeats.
func (w *work) sourceLease(ctx context.Context, m *placement.Migration) (*placement.Lease, error) {
	if m.Record().State != placement.PhaseDraining {
		return nil, nil //nolint:nilnil // no lease matters yet
	}
	return w.Leases.Get(ctx, m.Record().Source)
}

func (f *Fleet) quiesce(ctx context.Context, w *work, mv *move) error {
	if err := mv.migration.Quiesce(mv.Parties, f.Settings.Deadlines, w.now); err != nil {
		return err
	}
	return w.save(ctx, mv, "migration.quiescing", nil)
}

// switchOver is P5: the writer changes, and the manifest becomes the backup of the new generation (P11).
func (f *Fleet) switchOver(ctx context.Context, w *work, mv *move) error {
	if err := mv.migration.SwitchOver(mv.Parties, f.Settings.Deadlines, w.now); err != nil {
		return err
	}
	if err := w.backUp(ctx, mv.migration); err != nil {
		return err
	}
	return w.save(ctx, mv, "migration.switched", nil)
}

func (w *work) fail(ctx context.Context, mv *move) error {
	step := mv.loaded.State.String()
	if err := mv.migration.Fail(mv.Parties, step, "its deadline passed", w.now); err != nil {
		return err
	}
	return w.save(ctx, mv, "migration.failed", map[string]string{"step": step, "reason": "its deadline passed"})
}

func (w *work) endDrain(ctx context.Context, mv *move, source *placement.Lease) error {
	if err := mv.migration.DrainDeadline(mv.Parties, source, w.now); err != nil {
		return err
	}
	return w.save(ctx, mv, "migration.drain_ended", nil)
}
