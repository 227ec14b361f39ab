package fleet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"berth/application/fleet"
	"berth/domain/placement"
)

// laden is a world whose node a holds n tenants, with an empty node b beside it.
func laden(t tb, n int) *world {
	t.Helper()
	w := newWorld(t)
	w.region("eu")
	w.node("a", "eu", 100)
	for i := range n {
		w.tenant(fmt.Sprintf("t%02d", i), "eu")
	}
	w.node("b", "eu", 100)
	return w
}

func (w *world) drain(node string) {
	w.t.Helper()
	_, err := w.DrainNode(w.ctx, fleet.NodeRequest{Actor: alice, Node: node})
	w.must(err)
}

// running are the migrations that have not ended, by tenant.
func (w *world) running() map[string]placement.MigrationRecord {
	w.t.Helper()
	out := map[string]placement.MigrationRecord{}
	for _, m := range w.dump().Migrations {
		if m.State < placement.PhaseDone {
			out[m.Tenant] = m
		}
	}
	return out
}

// finish carries every running migration to its end.
func (w *world) finish() {
	w.t.Helper()
	running := w.running()
	for _, tenant := range sortedKeys(running) {
		m := running[tenant]
		w.carry(m.ID, m.Source, m.Target, placement.PhaseDone)
	}
}

// A drain moves every tenant, never more than the setting at a time, and leaves an empty node that can be retired (P12).
func TestDrainIsBoundedAndComplete(t *testing.T) {
	t.Parallel()
	w := laden(t, 11)
	w.must(w.SweepDrains(w.ctx))
	if got := len(w.running()); got != 0 {
		t.Fatalf("%d migrations run before anybody asked", got)
	}
	w.drain("a")
	for rounds := 0; w.nodeRecord("a").Tenants > 0; rounds++ {
		if rounds > 3 {
			t.Fatalf("after %d rounds the node still holds %d tenants", rounds, w.nodeRecord("a").Tenants)
		}
		w.must(w.SweepDrains(w.ctx))
		w.must(w.SweepDrains(w.ctx))
		left := int(w.nodeRecord("a").Tenants)
		if got := len(w.running()); got != min(left, w.Settings.DrainParallelism) {
			t.Fatalf("%d migrations run with %d tenants left", got, left)
		}
		w.finish()
		w.checkCounters()
	}
	if got := w.nodeRecord("b").Tenants; got != 11 {
		t.Errorf("node b holds %d tenants", got)
	}
	if e := w.lastEntry("migration.begun"); e.Actor.Kind != "system" || e.Actor.Source != "drain" {
		t.Errorf("a drain's migration was audited as %+v", e)
	}
	if got := w.nodeRecord("a").Status; got != placement.NodeDraining {
		t.Errorf("the empty node is %s: only an operator ends a drain", got)
	}
	_, err := w.RetireNode(w.ctx, fleet.NodeRequest{Actor: alice, Node: "a"})
	w.must(err)
}

// A drain goes on by itself after a restart, counts what runs already, whoever began it, and stops when the operator
// activates the node.
func TestDrainResumesAndStops(t *testing.T) {
	t.Parallel()
	w := laden(t, 8)
	w.begin("t07", "b") // by an operator
	w.drain("a")
	w.must(w.SweepDrains(w.ctx))
	if got := len(w.running()); got != w.Settings.DrainParallelism {
		t.Fatalf("%d migrations run", got)
	}
	restarted := w.replica()
	w.must(restarted.SweepDrains(w.ctx))
	if got := len(w.running()); got != w.Settings.DrainParallelism {
		t.Fatalf("after a restart %d migrations run", got)
	}
	w.finish()
	w.must(restarted.SweepDrains(w.ctx))
	if got := len(w.running()); got != w.Settings.DrainParallelism {
		t.Fatalf("the restarted replica runs %d migrations", got)
	}
	_, err := w.ActivateNode(w.ctx, fleet.NodeRequest{Actor: alice, Node: "a"})
	w.must(err)
	w.finish()
	w.must(restarted.SweepDrains(w.ctx))
	if got := len(w.running()); got != 0 {
		t.Errorf("%d migrations run after the drain was stopped", got)
	}
}

// A drain that is stopped while a sweep is under way begins nothing more.
func TestDrainStoppedUnderWay(t *testing.T) {
	t.Parallel()
	w := laden(t, 3)
	w.drain("a")
	stopped := false
	w.Store = before{w.mem, func() {
		if !stopped {
			stopped = true
			_, err := w.ActivateNode(w.ctx, fleet.NodeRequest{Actor: alice, Node: "a"})
			w.must(err)
		}
	}}
	w.must(w.SweepDrains(w.ctx))
	if got := len(w.running()); got != 0 || !stopped {
		t.Errorf("%d migrations run", got)
	}
}

// Two replicas that sweep at once do not begin more than the setting allows.
func TestReplicasDrainWithinTheBound(t *testing.T) {
	t.Parallel()
	w := laden(t, 30)
	other := w.replica()
	w.drain("a")
	for range 5 {
		w.together(
			func() error { return w.SweepDrains(w.ctx) }, func() error { return other.SweepDrains(w.ctx) },
			func() error { return w.SweepDrains(w.ctx) }, func() error { return other.SweepDrains(w.ctx) },
		)
		if got := len(w.running()); got != w.Settings.DrainParallelism {
			t.Fatalf("%d migrations run", got)
		}
		w.finish()
	}
	w.checkCounters()
}

// Where no node takes them tenants stay, without an error, and move once there is room in their region (P12).
func TestDrainWaitsForRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	w.region("us")
	w.node("a", "eu", 10)
	w.node("far", "us", 10)
	w.tenant("t1", "eu")
	w.tenant("t2", "eu")
	w.tenant("t3", "eu")
	w.drain("a")
	w.hints.Took()
	before := w.dump()
	w.must(w.SweepDrains(w.ctx))
	w.same(before, "a drain without a target")
	w.node("b", "eu", 1)
	w.must(w.SweepDrains(w.ctx))
	if got := sortedKeys(w.running()); !slices.Equal(got, []string{"t1"}) {
		t.Errorf("with room for one, %v move", got)
	}
	w.node("c", "eu", 10)
	w.must(w.SweepDrains(w.ctx))
	if got := len(w.running()); got != 3 {
		t.Errorf("with room for all, %d move", got)
	}
}

// A tenant whose migration fails again and again does not keep the others from moving.
func TestDrainPassesOverWhatFails(t *testing.T) {
	t.Parallel()
	w := laden(t, 6)
	w.Settings.DrainParallelism = 1
	w.drain("a")
	moved := map[string]bool{}
	for range 6 {
		w.must(w.SweepDrains(w.ctx))
		running := w.running()
		for tenant, m := range running {
			if tenant == "t00" {
				w.must(w.failed("b", m.ID))
				continue
			}
			w.carry(m.ID, m.Source, m.Target, placement.PhaseDone)
			moved[tenant] = true
		}
	}
	if len(moved) != 5 {
		t.Fatalf("beside the failing tenant only %d moved", len(moved))
	}
	w.must(w.SweepDrains(w.ctx))
	if len(w.running()) != 0 {
		t.Error("the failing tenant is tried again at once")
	}
	w.clock.Advance(w.Settings.DrainRetry + time.Second)
	w.beat("b")
	w.must(w.SweepDrains(w.ctx))
	if len(w.running()) != 1 {
		t.Error("the failing tenant is never tried again")
	}
}

// A draining node takes nothing: neither a new tenant nor a migration (P12).
func TestDrainingNodeTakesNothing(t *testing.T) {
	t.Parallel()
	w := laden(t, 1)
	w.drain("b")
	_, err := w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: "t00", TargetNode: "b"})
	w.refused(err, "target_not_available")
	for i := range 5 {
		if p := w.tenant(fmt.Sprintf("new%d", i), "eu"); p.Record().Node != "a" {
			t.Errorf("a new tenant was placed on %s", p.Record().Node)
		}
	}
}
