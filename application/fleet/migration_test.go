package fleet_test

import (
	"reflect"
	"sync"
	"testing"

	"berth/application/fleet"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/notify"
)

// A migration passes every state in order; generation and node change at the switch only, and every change of the
// placement raises its version and both nodes' assignments (P1, P5, P15).
func TestMigrationFromBeginToDone(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.hints.Took()
	m := w.begin("acme", "b")
	was := w.placement("acme")
	if was.State != placement.Active || was.Migration != m || was.Generation != 1 {
		t.Fatalf("while preparing the placement is %+v", was)
	}
	if got := w.nodeRecord("b").Inbound; got != 1 {
		t.Fatalf("the target has %d inbound, want 1", got)
	}
	concerned := []notify.Topic{"migration/" + notify.Topic(m), "node/a", "node/b", "tenant/acme"}
	for _, to := range []placement.Phase{
		placement.PhaseQuiescing, placement.PhaseCopying, placement.PhaseSwitching, placement.PhaseDraining,
		placement.PhaseDone,
	} {
		a, b := w.nodeRecord("a").Assignments, w.nodeRecord("b").Assignments
		w.hints.Took()
		w.stepTo(m, "a", "b", to)
		now := w.placement("acme")
		if now.Version <= was.Version {
			t.Errorf("%s did not raise the placement version", to)
		}
		switched := to >= placement.PhaseDraining
		if want := map[bool]int64{false: 1, true: 2}[switched]; now.Generation != want {
			t.Errorf("%s is at generation %d, want %d", to, now.Generation, want)
		}
		if want := map[bool]string{false: "a", true: "b"}[switched]; now.Node != want {
			t.Errorf("while %s the holder is %s, want %s", to, now.Node, want)
		}
		if w.nodeRecord("a").Assignments <= a || w.nodeRecord("b").Assignments <= b {
			t.Errorf("%s did not raise the assignments of both nodes", to)
		}
		if got := w.hints.Took(); !reflect.DeepEqual(got, concerned) {
			t.Errorf("%s hinted at %v, want %v", to, got, concerned)
		}
		was = now
	}
	if was.State != placement.Active || was.Migration != "" || was.Source != "" || was.ManifestRoot != "" {
		t.Errorf("after the migration the placement is %+v", was)
	}
	a, b := w.nodeRecord("a"), w.nodeRecord("b")
	if a.Tenants != 0 || b.Tenants != 1 || b.Inbound != 0 {
		t.Errorf("the nodes count %d and %d tenants, %d inbound", a.Tenants, b.Tenants, b.Inbound)
	}
	if r := w.migration(m); r.EndedAt.IsZero() || !r.Deadline.IsZero() || r.Failure != nil {
		t.Errorf("the migration ended as %+v", r)
	}
}

// stepTo makes the one step that leads into a phase.
func (w *world) stepTo(m, source, target string, to placement.Phase) {
	w.t.Helper()
	g := w.migration(m).Generation
	switch to {
	case placement.PhaseQuiescing:
		w.must(w.prepared(source, m))
		w.must(w.prepared(target, m))
	case placement.PhaseCopying:
		w.must(w.quiesced(source, m, g, snapshot))
	case placement.PhaseSwitching:
		w.must(w.copiedOnly(target, m))
	case placement.PhaseDraining:
		w.must(w.SweepMigrations(w.ctx))
	case placement.PhaseDone:
		w.must(w.drained(source, m, g+1))
	}
	if got := w.migration(m).State; got != to {
		w.t.Fatalf("the migration is %s, want %s", got, to)
	}
}

// Copied is followed by the switch without anybody asking (P5), and every step is audited with its actor.
func TestCopiedSwitchesByItself(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseCopying)
	w.must(w.copied("b", m, snapshot))
	if got := w.placement("acme"); got.State != placement.Draining || got.Node != "b" || got.Generation != 2 {
		t.Fatalf("after copied the placement is %+v", got)
	}
	if e := w.lastEntry("migration.copied"); e.Actor.ID != "b" || e.Subject != "tenant/acme" || e.Detail["manifest_root"] != snapshot.Root {
		t.Errorf("copied was audited as %+v", e)
	}
	if e := w.lastEntry("migration.switched"); e.Actor.Kind != "system" || e.Detail["migration"] != m || e.Detail["state"] != "draining" {
		t.Errorf("the switch was audited as %+v", e)
	}
}

// The manifest is the tenant's backup once all of it is in the store, and belongs to the new generation after the
// switch, so that a recover right behind it loses nothing (P11).
func TestManifestBecomesTheBackup(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseCopying)
	if b := w.backup("acme"); b != nil {
		t.Errorf("a backup is recorded before its chunks were seen: %+v", b)
	}
	w.must(w.copiedOnly("b", m))
	if b := w.backup("acme"); b == nil || b.Generation != 1 || b.Node != "a" || b.Manifest != snapshot {
		t.Errorf("after copied the backup is %+v", b)
	}
	w.must(w.SweepMigrations(w.ctx))
	if b := w.backup("acme"); b == nil || b.Generation != 2 || b.Node != "b" || b.Manifest != snapshot {
		t.Errorf("after the switch the backup is %+v", b)
	}
}

// A move to another region is asked for by name and changes the home region with the switch (P2).
func TestRehome(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.region("us")
	w.node("c", "us", 10)
	_, err := w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: "acme", TargetNode: "c"})
	w.refused(err, "target_in_another_region")
	_, err = w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: "acme", TargetNode: "c", Rehome: "eu"})
	w.refused(err, "rehome_mismatch")
	begun, err := w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: "acme", TargetNode: "c", Rehome: "us"})
	w.must(err)
	m := begun.Record().ID
	w.carry(m, "a", "c", placement.PhaseSwitching)
	if got := w.placement("acme").HomeRegion; got != "eu" {
		t.Errorf("before the switch the home is %s", got)
	}
	w.must(w.SweepMigrations(w.ctx))
	if got := w.placement("acme"); got.HomeRegion != "us" || got.Node != "c" {
		t.Errorf("after the switch the placement is %+v", got)
	}
}

// What can not begin is refused with its reason, and changes nothing (P2).
func TestBeginIsRefused(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.node("small", "eu", 0)
	w.defineNode("unborn", "eu", 10)
	w.node("cordoned", "eu", 10)
	off := false
	_, err := w.ChangeNode(w.ctx, fleet.ChangeNodeRequest{Actor: alice, Node: "cordoned", Schedulable: &off})
	w.must(err)
	w.node("lost", "eu", 10)
	w.lapseOf("lost", "a", "b", "small", "cordoned")
	w.region("empty")
	w.tenant("waiting", "empty")
	w.hints.Took()
	before := w.dump()
	for _, c := range []struct{ tenant, target, slug string }{
		{"nobody", "b", "tenant_not_found"}, {"waiting", "b", "tenant_not_placed"}, {"acme", "nowhere", "node_not_found"},
		{"acme", "a", "target_is_source"}, {"acme", "small", "target_full"}, {"acme", "unborn", "target_not_available"},
		{"acme", "cordoned", "target_not_available"}, {"acme", "lost", "target_not_available"},
	} {
		_, err := w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: c.tenant, TargetNode: c.target})
		w.refused(err, c.slug)
		w.same(before, "a refused begin")
	}
	_, err = w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: "acme", TargetNode: "nowhere"})
	if e, _ := fault.As(err); e.Field != "target_node" {
		t.Errorf("the unknown target is said to be at %q", e.Field)
	}
	w.begin("acme", "b")
	_, err = w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: "acme", TargetNode: "b"})
	w.refused(err, "migration_in_flight")
}

// Room on the target counts migrations that are bound for it (P2).
func TestRoomCountsInbound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	w.node("a", "eu", 10)
	w.tenant("t1", "eu")
	w.tenant("t2", "eu")
	w.node("b", "eu", 1)
	m := w.begin("t1", "b")
	_, err := w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: "t2", TargetNode: "b"})
	w.refused(err, "target_full")
	w.must(w.abort("t1", m))
	w.begin("t2", "b")
}

// Before the switch an abort returns to the source at the same generation and a higher version (P6); after it, it is
// refused, and the target finishes as the only writer.
func TestAbortInEachState(t *testing.T) {
	t.Parallel()
	for phase := placement.PhasePreparing; phase <= placement.PhaseSwitching; phase++ {
		t.Run(phase.String(), func(t *testing.T) {
			t.Parallel()
			w := twoNodes(t)
			m := w.begin("acme", "b")
			w.carry(m, "a", "b", phase)
			was := w.placement("acme")
			w.must(w.abort("acme", m))
			now := w.placement("acme")
			if now.State != placement.Active || now.Node != "a" || now.Generation != 1 || now.Version <= was.Version || now.Migration != "" {
				t.Errorf("after the abort the placement is %+v", now)
			}
			if r := w.migration(m); r.State != placement.PhaseAborted || r.EndedAt.IsZero() {
				t.Errorf("the migration ended as %+v", r)
			}
			if got := w.nodeRecord("b"); got.Inbound != 0 || got.Tenants != 0 {
				t.Errorf("the target counts %+v", got)
			}
			before := w.dump()
			w.hints.Took()
			w.must(w.abort("acme", m))
			w.same(before, "a second abort")
			w.must(w.SweepMigrations(w.ctx))
			w.same(before, "a sweep after the abort")
			w.begin("acme", "b")
		})
	}
	for phase := placement.PhaseDraining; phase <= placement.PhaseDone; phase++ {
		t.Run(phase.String(), func(t *testing.T) {
			t.Parallel()
			w := twoNodes(t)
			m := w.begin("acme", "b")
			w.carry(m, "a", "b", phase)
			w.hints.Took()
			before := w.dump()
			w.refused(w.abort("acme", m), map[placement.Phase]string{
				placement.PhaseDraining: "migration_state_conflict", placement.PhaseDone: "migration_superseded",
			}[phase])
			w.same(before, "an abort after the switch")
		})
	}
}

// Of an abort that races copied exactly one wins (P5), on two replicas at once, two hundred times.
func TestAbortRacingCopied(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	other := w.replica()
	source, target := "a", "b"
	wins := map[placement.Phase]int{}
	for round := range 200 {
		m := w.begin("acme", target)
		w.carry(m, source, target, placement.PhaseCopying)
		g := w.migration(m).Generation
		var aborted, copied error
		w.together(
			func() error { aborted = other.abort("acme", m); return nil },
			func() error { copied = w.copied(target, m, snapshot); return nil },
		)
		r, p := w.migration(m), w.placement("acme")
		wins[r.State]++
		switch r.State {
		case placement.PhaseAborted:
			if aborted != nil || p.Node != source || p.Generation != g || p.State != placement.Active {
				t.Fatalf("round %d: the abort won with %v and left %+v", round, aborted, p)
			}
		case placement.PhaseDraining:
			if aborted == nil || copied != nil || p.Node != target || p.Generation != g+1 {
				t.Fatalf("round %d: the switch won, abort said %v, copied %v, and left %+v", round, aborted, copied, p)
			}
			w.must(w.drained(source, m, g+1))
			source, target = target, source
		default:
			t.Fatalf("round %d ended %s: abort %v, copied %v", round, r.State, aborted, copied)
		}
	}
	t.Logf("%d times the abort won, %d times the switch", wins[placement.PhaseAborted], wins[placement.PhaseDraining])
}

// together runs functions at once, waits for all, and fails the test unless each succeeded.
func (w *world) together(fns ...func() error) {
	w.t.Helper()
	var all sync.WaitGroup
	start, errs := make(chan struct{}), make([]error, len(fns))
	for i, fn := range fns {
		all.Go(func() { <-start; errs[i] = fn() })
	}
	close(start)
	all.Wait()
	for _, err := range errs {
		w.must(err)
	}
}

// A migration is found under its own tenant only, and lists are bounded and ordered.
func TestMigrationsAreListedUnderTheirTenant(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.tenant("other", "eu")
	var ids []string
	for range 5 {
		m := w.begin("acme", "b")
		w.must(w.abort("acme", m))
		ids = append(ids, m)
	}
	_, err := w.Migration(w.ctx, fleet.MigrationRequest{Tenant: "other", Migration: ids[0]})
	w.refused(err, "migration_not_found")
	w.refused(w.abort("other", ids[0]), "migration_not_found")
	_, err = w.Migration(w.ctx, fleet.MigrationRequest{Tenant: "acme", Migration: "mig_none"})
	w.refused(err, "migration_not_found")
	_, err = w.Migrations(w.ctx, fleet.MigrationsRequest{Tenant: "nobody"})
	w.refused(err, "tenant_not_found")
	var got []string
	for page, pages := (fleet.MigrationsRequest{Tenant: "acme"}), 0; ; pages++ {
		page.Page.Limit = 2
		list, err := w.Migrations(w.ctx, page)
		w.must(err)
		for _, m := range list.Items {
			got = append(got, m.Record().ID)
		}
		if page.Page.After = list.Next; list.Next == "" {
			if pages != 2 {
				t.Errorf("5 migrations took %d pages of 2", pages+1)
			}
			break
		}
	}
	if !reflect.DeepEqual(got, ids) {
		t.Errorf("listed %v, want %v", got, ids)
	}
}

// A lost second transaction of copied is no failure of the report: the answer is success, and the sweep switches (P5).
func TestSweepSwitchesAfterACrash(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseCopying)
	w.must(w.copiedOnly("b", m))
	if got := w.migration(m).State; got != placement.PhaseSwitching {
		t.Fatalf("the migration is %s", got)
	}
	w.must(w.copied("b", m, snapshot)) // repeated since its answer was lost: it carries on too
	if got := w.placement("acme"); got.State != placement.Draining || got.Node != "b" {
		t.Fatalf("the repeated report left %+v", got)
	}
}
