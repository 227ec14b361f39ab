package fleet_test

import (
	"testing"

	"berth/domain/placement"
)

// A lapse that is only read, as a process does that has just started or whose database was restored, ends nothing: each
// replica counts it out itself first (P9).
func TestALapseIsCountedByEachReplica(t *testing.T) {
	t.Parallel()
	w := backedUp(t)
	w.lapseOf("a", "b")
	started := w.replica()
	_, err := started.rescue(nil)
	w.refused(err, "lease_not_run_out")
	w.must(started.SweepLeases(w.ctx)) // its count of the row begins here
	_, err = started.rescue(nil)
	w.refused(err, "lease_not_run_out")
	started.clock.Advance(w.Settings.Lease.CountOut() + 1)
	begun, err := started.rescue(nil)
	w.must(err)
	if r := begun.Record(); r.Kind != placement.Recovery || r.Target != "b" {
		t.Errorf("the recover is %+v", r)
	}
}

// The same holds for the end of a drain: a source whose lapse was not counted here may still be serving (P7, P9).
func TestADrainEndsByItsOwnReplicasCount(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseDraining)
	w.lapseOf("a", "b")
	w.clock.Advance(w.Settings.Deadlines.Drain)
	started := w.replica()
	w.must(started.SweepMigrations(w.ctx))
	if s := w.migration(m).State; s != placement.PhaseDraining {
		t.Fatalf("a replica that counted nothing ended the drain: %s", s)
	}
	w.must(w.SweepMigrations(w.ctx))
	if s := w.migration(m).State; s != placement.PhaseDone {
		t.Fatalf("the replica that counted the lapse left the migration %s", s)
	}
}
