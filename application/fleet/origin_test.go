package fleet_test

import (
	"context"
	"testing"

	"berth/domain/placement"
	"berth/ports/store"
)

// lostBeat is a tenant on node a, and a replica that counted the last lease out, which then granted another through a
// second replica; the database has no trace of that one, since it failed over to a copy that lagged behind. The node
// may write until the lost lease ends.
func lostBeat(t *testing.T) *world {
	t.Helper()
	w := backedUp(t)
	w.lapseOf("a", "b")
	behind := w.mem.Copy()
	other := w.replica()
	other.beat("a")
	w.mem.FailOver(behind, "promoted")
	if l := w.lease("a"); !l.Lapsed {
		t.Fatalf("the copy has the beat that is to be lost: %+v", l)
	}
	return w
}

// A recover waits until the replica has counted the lease anew since the failover, whatever it counted before (P9).
func TestALeaseLostByAFailoverIsCountedAnew(t *testing.T) {
	t.Parallel()
	w := lostBeat(t)
	_, err := w.rescue(nil)
	w.refused(err, "lease_not_run_out")
	w.must(w.SweepLeases(w.ctx)) // the count begins here
	w.clock.Advance(w.Settings.Lease.CountOut())
	w.must(w.SweepLeases(w.ctx))
	_, err = w.rescue(nil)
	w.refused(err, "lease_not_run_out")
	w.clock.Advance(1)
	begun, err := w.rescue(nil)
	w.must(err)
	if r := begun.Record(); r.Kind != placement.Recovery || r.Target != "b" {
		t.Errorf("the recover is %+v", r)
	}
}

// So it is where the database comes back to a history that was counted in before, also when nobody swept in between.
func TestALeaseIsCountedAnewInAnEarlierHistory(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(w *world){
		"swept in between": func(w *world) { w.must(w.SweepLeases(w.ctx)) },
		"asked in between": func(w *world) {
			_, err := w.rescue(nil)
			w.refused(err, "lease_not_run_out")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := backedUp(t)
			first := w.origin()
			w.lapseOf("a", "b")
			behind := w.mem.Copy()
			w.mem.FailOver(behind, "promoted")
			between(w)
			w.mem.FailOver(behind, first)
			_, err := w.rescue(nil)
			w.refused(err, "lease_not_run_out")
			w.must(w.SweepLeases(w.ctx))
			w.clock.Advance(w.Settings.Lease.CountOut() + 1)
			_, err = w.rescue(nil)
			w.must(err)
		})
	}
}

// No lapse is recorded by a count of another history: neither where the failover came between two sweeps, nor where it
// came between the count and its transaction.
func TestALapseIsNotRecordedByTheCountOfAnotherHistory(t *testing.T) {
	t.Parallel()
	for name, failOver := range map[string]func(w *world){
		"between two sweeps": func(w *world) { w.mem.FailOver(w.mem.Copy(), "promoted") },
		"before the transaction": func(w *world) {
			w.Store = before{w.mem, func() { w.mem.FailOver(w.mem.Copy(), "promoted") }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := twoNodes(t)
			w.must(w.SweepLeases(w.ctx))
			w.clock.Advance(w.Settings.Lease.CountOut() + 1)
			failOver(w)
			w.must(w.SweepLeases(w.ctx))
			w.Store = w.mem
			if w.lease("a").Lapsed {
				t.Fatal("a lease lapsed by the count of another history")
			}
			w.must(w.SweepLeases(w.ctx))
			w.clock.Advance(w.Settings.Lease.CountOut() + 1)
			w.must(w.SweepLeases(w.ctx))
			if !w.lease("a").Lapsed {
				t.Fatal("the count does not end any more")
			}
		})
	}
}

// The end of a drain waits for the new count, too.
func TestADrainWaitsForTheNewCount(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseDraining)
	w.lapseOf("a", "b")
	w.clock.Advance(w.Settings.Deadlines.Drain)
	w.mem.FailOver(w.mem.Copy(), "promoted")
	w.must(w.SweepMigrations(w.ctx))
	if s := w.migration(m).State; s != placement.PhaseDraining {
		t.Fatalf("the drain ended by the count of another history: %s", s)
	}
	w.must(w.SweepLeases(w.ctx))
	w.clock.Advance(w.Settings.Lease.CountOut() + 1)
	w.must(w.SweepMigrations(w.ctx))
	if s := w.migration(m).State; s != placement.PhaseDone {
		t.Fatalf("the drain does not end any more: %s", s)
	}
}

func (w *world) origin() (origin string) {
	w.t.Helper()
	w.view(func(_ context.Context, r *store.Roles) error {
		origin = r.Origin
		return nil
	})
	return origin
}
