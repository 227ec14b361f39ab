package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// The prepare deadline fails the migration, or quiesces all the same where the setting says so (P2).
func TestPrepareDeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unprepared bool
		want       placement.Phase
	}{{false, placement.PhaseFailed}, {true, placement.PhaseQuiescing}} {
		w := twoNodes(t)
		w.Settings.Deadlines.QuiesceUnprepared = c.unprepared
		m := w.begin("acme", "b")
		w.must(w.prepared("a", m))
		w.clock.Advance(w.Settings.Deadlines.Prepare - time.Second)
		w.must(w.SweepMigrations(w.ctx))
		if got := w.migration(m).State; got != placement.PhasePreparing {
			t.Fatalf("before its deadline it is %s", got)
		}
		w.clock.Advance(time.Second)
		w.must(w.SweepMigrations(w.ctx))
		if got := w.migration(m).State; got != c.want {
			t.Errorf("past its deadline it is %s, want %s", got, c.want)
		}
	}
}

// Before the switch a deadline returns to the source at the same generation (P6), and says which step it was.
func TestDeadlinesBeforeTheSwitch(t *testing.T) {
	t.Parallel()
	for _, phase := range []placement.Phase{placement.PhaseQuiescing, placement.PhaseCopying} {
		w := twoNodes(t)
		m := w.begin("acme", "b")
		w.carry(m, "a", "b", phase)
		was := w.placement("acme")
		w.hints.Took()
		before := w.dump()
		w.must(w.SweepMigrations(w.ctx))
		w.same(before, "a sweep before the deadline")
		w.clock.Advance(w.migration(m).Deadline.Sub(w.clock.Now()))
		w.must(w.SweepMigrations(w.ctx))
		r, p := w.migration(m), w.placement("acme")
		if r.State != placement.PhaseFailed || r.Failure == nil || r.Failure.Step != phase.String() {
			t.Errorf("past the deadline of %s the migration is %+v %+v", phase, r, r.Failure)
		}
		if p.State != placement.Active || p.Node != "a" || p.Generation != 1 || p.Version <= was.Version {
			t.Errorf("past the deadline of %s the placement is %+v", phase, p)
		}
		if e := w.lastEntry("migration.failed"); e.Actor.Kind != "system" || e.Detail["step"] != phase.String() {
			t.Errorf("the deadline was audited as %+v", e)
		}
	}
}

// The drain deadline ends the migration only once the source is fenced by its lease (P7); until then it waits however
// late it is.
func TestDrainDeadlineNeedsAFencedSource(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseDraining)
	w.clock.Advance(10 * w.Settings.Deadlines.Drain)
	w.beat("a")
	w.hints.Took()
	before := w.dump()
	w.must(w.SweepMigrations(w.ctx))
	w.same(before, "the deadline of a source that lives")
	w.lapseOf("a", "b")
	w.must(w.SweepMigrations(w.ctx))
	if p := w.placement("acme"); p.State != placement.Active || p.Node != "b" || p.Generation != 2 || p.Migration != "" {
		t.Errorf("after the drain deadline the placement is %+v", p)
	}
	if e := w.lastEntry("migration.drain_ended"); e.Detail["migration"] != m {
		t.Errorf("the end was audited as %+v", e)
	}
}

// A lapsed source that is within its drain deadline may still report.
func TestLapsedSourceKeepsItsDeadline(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.Settings.Deadlines.Drain = time.Hour
	w.carry(m, "a", "b", placement.PhaseDraining)
	w.lapseOf("a", "b")
	w.hints.Took()
	before := w.dump()
	w.must(w.SweepMigrations(w.ctx))
	w.same(before, "a sweep before the drain deadline")
	w.must(w.drained("a", m, 2))
}

// One migration that can not be carried on stops no other, and is told of.
func TestOneFailingMigrationStopsNoOther(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	tenants := []string{"acme", "t1", "t2", "t3"}
	var ids []string
	for _, tenant := range tenants {
		if tenant != "acme" {
			w.tenant(tenant, "eu")
		}
	}
	for _, tenant := range tenants {
		p := w.placement(tenant)
		target := map[string]string{"a": "b", "b": "a"}[p.Node]
		m := w.begin(tenant, target)
		ids = append(ids, m)
		w.carry(m, p.Node, target, placement.PhaseSwitching)
	}
	w.Store = tampered{w.mem, func(r *store.Roles) { r.Placements = brokenFor{r.Placements, "t1"} }}
	err := w.SweepMigrations(w.ctx)
	if fault.SlugOf(err) != "broken" {
		t.Errorf("the sweep answered %v", err)
	}
	for i, m := range ids {
		want := placement.PhaseDraining
		if tenants[i] == "t1" {
			want = placement.PhaseSwitching
		}
		if got := w.migration(m).State; got != want {
			t.Errorf("the migration of %s is %s, want %s", tenants[i], got, want)
		}
	}
	w.Store = w.mem
	w.must(w.SweepMigrations(w.ctx))
	if got := w.migration(ids[1]).State; got != placement.PhaseDraining {
		t.Errorf("once mended it is %s", got)
	}
}

// brokenFor can not read one tenant's placement.
type brokenFor struct {
	store.Placements
	tenant string
}

func (b brokenFor) Get(ctx context.Context, tenant string) (*placement.Placement, error) {
	if tenant == b.tenant {
		return nil, fault.New(fault.Internal, "broken", "the row can not be read")
	}
	return b.Placements.Get(ctx, tenant)
}

// Two replicas that sweep at once over one store do each step once: the generation grows by exactly one.
func TestReplicasSweepAtOnce(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	other := w.replica()
	source, target := "a", "b"
	for round := range 50 {
		m := w.begin("acme", target)
		w.carry(m, source, target, placement.PhaseSwitching)
		g, entries := w.migration(m).Generation, len(w.entries())
		w.together(
			func() error { return w.SweepMigrations(w.ctx) }, func() error { return other.SweepMigrations(w.ctx) },
			func() error { return w.SweepMigrations(w.ctx) }, func() error { return other.SweepMigrations(w.ctx) },
		)
		if p := w.placement("acme"); p.Generation != g+1 || p.Node != target {
			t.Fatalf("round %d: after four sweeps the placement is %+v", round, p)
		}
		if n := len(w.entries()) - entries; n != 1 {
			t.Fatalf("round %d: the switch was audited %d times", round, n)
		}
		w.must(w.drained(source, m, g+1))
		source, target = target, source
	}
}

// A sweep reads every page of what runs.
func TestSweepReadsEveryPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	w.node("a", "eu", 3000)
	const many = store.MaxPage + 7
	for i := range many {
		w.tenant(fmt.Sprintf("t%04d", i), "eu")
	}
	w.node("b", "eu", 3000)
	for i := range many {
		w.begin(fmt.Sprintf("t%04d", i), "b")
	}
	w.clock.Advance(w.Settings.Deadlines.Prepare)
	w.must(w.SweepMigrations(w.ctx))
	if got := w.nodeRecord("b").Inbound; got != 0 {
		t.Errorf("%d migrations outlived their deadline", got)
	}
}
