package placement

import (
	"reflect"
	"testing"
	"time"

	"berth/domain/fault"
)

// Each condition of P11 refuses by its own name, and changes nothing.
func TestRecoverAsksForEachCondition(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*bench, *RecoverPlan, *Loss)
		slug   string
		kind   fault.Kind
	}{
		"no consent":         {func(_ *bench, p *RecoverPlan, _ *Loss) { p.AcceptDataLoss = false }, "data_loss_not_accepted", fault.Forbidden},
		"another lost node":  {func(_ *bench, p *RecoverPlan, _ *Loss) { p.LostNode = "c" }, "node_does_not_hold_tenant", fault.Conflict},
		"no lost node":       {func(_ *bench, p *RecoverPlan, _ *Loss) { p.LostNode = "" }, "node_does_not_hold_tenant", fault.Conflict},
		"earlier generation": {func(_ *bench, p *RecoverPlan, _ *Loss) { p.Generation = 0 }, "generation_stale", fault.Conflict},
		"later generation":   {func(_ *bench, p *RecoverPlan, _ *Loss) { p.Generation = 2 }, "generation_stale", fault.Conflict},
		"lease runs":         {func(b *bench, _ *RecoverPlan, _ *Loss) { b.beat("a") }, "lease_not_run_out", fault.Conflict},
		"no backup":          {func(_ *bench, _ *RecoverPlan, l *Loss) { l.Backup = nil }, "no_verified_backup", fault.Conflict},
		"unknown backup":     {func(_ *bench, p *RecoverPlan, _ *Loss) { p.Backup = root(8) }, "backup_unknown", fault.Conflict},
		"target offline":     {func(b *bench, _ *RecoverPlan, _ *Loss) { b.lapse("b") }, "target_not_available", fault.Conflict},
		"target full":        {func(b *bench, _ *RecoverPlan, _ *Loss) { b.nodes["b"].Node.r.Tenants = 10 }, "target_full", fault.Conflict},
		"target elsewhere":   {func(b *bench, _ *RecoverPlan, _ *Loss) { b.nodes["b"].Node.r.Region = "us" }, "target_in_another_region", fault.Conflict},
		"no id":              {func(_ *bench, p *RecoverPlan, _ *Loss) { p.ID = "" }, "invalid_text", fault.Invalid},
		"another's lease":    {func(b *bench, _ *RecoverPlan, l *Loss) { b.lapse("c"); l.Lease = b.nodes["c"].Lease }, "parties_mismatched", fault.Internal},
		"another's backup":   {func(_ *bench, _ *RecoverPlan, l *Loss) { l.Backup.Tenant = "globex" }, "parties_mismatched", fault.Internal},
	} {
		b := newBench(t)
		b.lapse("a")
		plan := RecoverPlan{ID: "mig_9", LostNode: "a", Generation: 1, AcceptDataLoss: true}
		loss := Loss{Lease: b.nodes["a"].Lease, Backup: b.backup}
		c.change(b, &plan, &loss)
		before := b.image()
		_, err := Recover(plan, Parties{Placement: b.p, Source: b.nodes["a"].Node}, b.nodes["b"], loss, b.deadlines(), b.now)
		if fault.KindOf(err) != c.kind || !isSlug(err, c.slug) {
			t.Errorf("%s: got %v, want %s", name, err, c.slug)
		}
		if !reflect.DeepEqual(before, b.image()) {
			t.Errorf("%s: a refusal changed something", name)
		}
	}
}

// It works from the last verified backup, names the window that is lost, and leaves the generation for the switch (P11).
func TestRecoverEntersAtCopyingAndNamesTheLoss(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lapse("a")
	must(t, b.recoverTo("b"))
	p, m := b.p.Record(), b.m.Record()
	if p.State != Copying || p.Generation != 1 || p.Version != 2 || p.Node != "a" || p.ManifestRoot != root(7) || p.LastSequence != 7 {
		t.Fatalf("placement %+v", p)
	}
	if m.Kind != Recovery || m.Source != "a" || m.Target != "b" || *m.DataLoss != (DataLoss{at(50), 7}) || m.Deadline != m.ChangedAt.Add(10*time.Minute) {
		t.Fatalf("migration %+v", m)
	}
	b.forward()
	b.forward()
	if p := b.p.Record(); p.Generation != 2 || p.Node != "b" {
		t.Fatalf("after the switch %+v", p)
	}
}

// While a migration copies or switches, what it copied may be all there is: it has to be given up by name first.
func TestRecoverWaitsForACopyInFlight(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhaseCopying, PhaseSwitching} {
		b := newBench(t).reach(Move, phase)
		b.lapse("a")
		refused(t, b.recoverTo("c"), "migration_in_flight")
		must(t, b.m.Abort(b.parties(b.m), "the node is lost", b.now))
		must(t, b.recoverTo("c"))
	}
}

// Until the switch a recover can be given up, back to the lost node at its generation (§14).
func TestRecoverGoesBackUntilTheSwitch(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhaseCopying, PhaseSwitching} {
		b := newBench(t).reach(Recovery, phase)
		version := b.p.Record().Version
		must(t, b.m.Abort(b.parties(b.m), "it came back", b.now))
		if p := b.p.Record(); p.State != Active || p.Node != "a" || p.Generation != 1 || p.Version != version+1 || p.Migration != "" {
			t.Errorf("%s: %+v", phase, p)
		}
	}
}

// What ran when the node was lost ends, and gives back what it reserved; its nodes look at their assignments again.
func TestRecoverSupersedesWhatRan(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhasePreparing, PhaseQuiescing, PhaseDraining} {
		for _, target := range []string{"b", "c", "a"} {
			b := newBench(t).reach(Move, phase)
			lost := b.p.r.Node
			if target == lost {
				continue
			}
			if phase == PhaseDraining {
				b.backup = b.m.Backup()
			}
			b.lapse(lost)
			prior, before := b.m, b.image()
			must(t, b.recoverTo(target))
			if r := prior.Record(); r.State != PhaseFailed || r.Failure == nil || r.EndedAt.IsZero() || !r.Deadline.IsZero() {
				t.Errorf("%s: the prior migration is %+v", phase, r)
			}
			for id, n := range b.image().Nodes {
				want := map[bool]int64{true: 1}[id == target]
				if n.Inbound != want {
					t.Errorf("%s to %s: node %s awaits %d", phase, target, id, n.Inbound)
				}
				concerned := id == "a" || id == "b" || id == target
				if grew := n.Assignments > before.Nodes[id].Assignments; grew != concerned {
					t.Errorf("%s to %s: node %s looks again: %t", phase, target, id, grew)
				}
			}
		}
	}
}

// The room that the superseded migration held is room for the recover.
func TestRecoverMayUseTheRoomThatWasReserved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	must(t, b.nodes["b"].Node.SetCapacity(Capacity{1, 1000}, b.now))
	b.reach(Move, PhaseQuiescing)
	b.lapse("a")
	must(t, b.recoverTo("b"))
	if n := b.nodes["b"].Node.Record(); n.Inbound != 1 {
		t.Fatalf("it awaits %d", n.Inbound)
	}
}

// A caller that brings other rows than the recover's is told so before anything changed.
func TestRecoverRefusesRowsThatAreNotItsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhaseQuiescing)
	b.lapse("a")
	plan := RecoverPlan{ID: "mig_9", LostNode: "a", Generation: 1, AcceptDataLoss: true}
	loss := Loss{b.nodes["a"].Lease, b.m, b.backup}
	source, other := b.nodes["a"].Node, b.nodes["b"].Node
	twin := RestoreNode(other.Record())
	ended := newBench(t).reach(Move, PhaseDone).m
	for name, c := range map[string]struct {
		w      Parties
		target Candidate
		prior  *Migration
		slug   string
	}{
		"no source":         {Parties{b.p, nil, other}, b.nodes["c"], b.m, "parties_mismatched"},
		"another source":    {Parties{b.p, b.nodes["c"].Node, other}, b.nodes["c"], b.m, "parties_mismatched"},
		"no other node":     {Parties{b.p, source, nil}, b.nodes["c"], b.m, "parties_mismatched"},
		"another other":     {Parties{b.p, source, b.nodes["c"].Node}, b.nodes["c"], b.m, "parties_mismatched"},
		"migration left":    {Parties{b.p, source, other}, b.nodes["c"], nil, "parties_mismatched"},
		"another migration": {Parties{b.p, source, other}, b.nodes["c"], ended, "migration_superseded"},
		"two rows of one":   {Parties{b.p, source, twin}, b.nodes["b"], b.m, "parties_mismatched"},
	} {
		loss.Prior = c.prior
		before := b.image()
		_, err := Recover(plan, c.w, c.target, loss, b.deadlines(), b.now)
		if !isSlug(err, c.slug) {
			t.Errorf("%s: got %v, want %s", name, err, c.slug)
		}
		if !reflect.DeepEqual(before, b.image()) {
			t.Errorf("%s: a refusal changed something", name)
		}
	}
}
