package placement

import (
	"reflect"
	"strings"
	"testing"

	"berth/domain/fault"
)

// P2's guard on the target and on what is asked for: each refusal by its own name, and nothing changed.
func TestPrepareAsksForEachCondition(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		target, rehome, id string
		change             func(*bench)
		slug               string
		kind               fault.Kind
	}{
		"its own node":      {target: "a", slug: "target_is_source", kind: fault.Conflict},
		"another region":    {target: "d", slug: "target_in_another_region", kind: fault.Conflict},
		"wrong rehome":      {target: "d", rehome: "asia", slug: "rehome_mismatch", kind: fault.Invalid},
		"rehome at home":    {target: "b", rehome: "us", slug: "rehome_mismatch", kind: fault.Invalid},
		"cordoned":          {target: "b", change: func(b *bench) { b.nodes["b"].Node.r.Schedulable = false }, slug: "target_not_available", kind: fault.Conflict},
		"joining":           {target: "b", change: func(b *bench) { b.nodes["b"].Node.r.Status = NodeJoining }, slug: "target_not_available", kind: fault.Conflict},
		"draining":          {target: "b", change: func(b *bench) { b.nodes["b"].Node.r.Status = NodeDraining }, slug: "target_not_available", kind: fault.Conflict},
		"retired":           {target: "b", change: func(b *bench) { b.nodes["b"].Node.r.Status = NodeRetired }, slug: "target_not_available", kind: fault.Conflict},
		"offline":           {target: "b", change: func(b *bench) { b.lapse("b") }, slug: "target_not_available", kind: fault.Conflict},
		"full":              {target: "b", change: func(b *bench) { b.nodes["b"].Node.r.Tenants = 10 }, slug: "target_full", kind: fault.Conflict},
		"full when arrived": {target: "b", change: func(b *bench) { b.nodes["b"].Node.r.Inbound = 10 }, slug: "target_full", kind: fault.Conflict},
		"bytes used up":     {target: "b", change: func(b *bench) { b.nodes["b"].Lease.r.Usage.Bytes = 1000 }, slug: "target_full", kind: fault.Conflict},
		"own limit reached": {target: "b", change: func(b *bench) { b.nodes["b"].Lease.r.Reported.Tenants = 0 }, slug: "target_full", kind: fault.Conflict},
		"no id":             {target: "b", id: "-", slug: "invalid_text", kind: fault.Invalid},
	} {
		b := newBench(t)
		if c.change != nil {
			c.change(b)
		}
		plan := Plan{ID: map[bool]string{true: "", false: "mig_1"}[c.id == "-"], Rehome: c.rehome}
		before := b.image()
		_, err := Prepare(plan, b.p, b.nodes["a"].Node, b.nodes[c.target], b.deadlines(), b.now)
		if fault.KindOf(err) != c.kind || !isSlug(err, c.slug) {
			t.Errorf("%s: got %v, want %s", name, err, c.slug)
		}
		if !reflect.DeepEqual(before, b.image()) {
			t.Errorf("%s: a refusal changed something", name)
		}
	}
}

// Preparing leaves the tenant where and as it is, and reserves room (P1, P2).
func TestPrepareReservesAndLeavesThePlacementActive(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhasePreparing)
	p, m := b.p.Record(), b.m.Record()
	if p.State != Active || p.Generation != 1 || p.Version != 2 || p.Node != "a" || p.Migration != m.ID {
		t.Fatalf("placement %+v", p)
	}
	if b.nodes["b"].Node.Record().Inbound != 1 || b.nodes["b"].Free() != 9 {
		t.Fatalf("target %+v", b.nodes["b"].Node.Record())
	}
}

// A move to another region is asked for by name, and the home changes with the switch, not before (P2).
func TestRehomeHappensAtTheSwitch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	must(t, b.prepare("d", "us"))
	for b.m.r.State != PhaseDone {
		want := "eu"
		if b.m.r.State == PhaseDraining {
			want = "us"
		}
		if got := b.p.Record().HomeRegion; got != want {
			t.Fatalf("home is %s while %s", got, b.m.r.State)
		}
		b.forward()
	}
	if p := b.p.Record(); p.HomeRegion != "us" || p.Node != "d" || p.Generation != 2 {
		t.Fatalf("placement %+v", p)
	}
}

// Of an abort and a switch that race exactly one wins, whichever comes first (P5).
func TestOfAbortAndSwitchOneWins(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"abort", "switch"} {
		b := newBench(t).reach(Move, PhaseSwitching)
		second := map[string]string{"abort": "switch", "switch": "abort"}[first]
		stale, old := RestoreMigration(b.m.r), Restore(b.p.r) // what the other one read
		must(t, events()[first](b))
		before := b.image()
		if err := events()[second](b); fault.KindOf(err) != fault.Conflict {
			t.Errorf("%s after %s: %v", second, first, err)
		}
		// with its own row read before, and the placement as it is now
		b.m, stale = stale, b.m
		if err := events()[second](b); fault.KindOf(err) != fault.Conflict {
			t.Errorf("stale %s after %s: %v", second, first, err)
		}
		b.m = stale
		if !reflect.DeepEqual(before, b.image()) || old.Record() == b.p.Record() {
			t.Errorf("%s after %s changed something", second, first)
		}
	}
}

// Two migrations do not meet: whatever is sent to one while another runs changes nothing, nor does one act on the placement
// of another tenant.
func TestMigrationsActOnTheirOwnPlacementOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhaseAborted)
	old := b.m
	must(t, b.prepare("b", ""))
	b.forward()
	for phase := PhasePreparing; phase <= PhaseFailed; phase++ {
		for name, event := range events() {
			if name == "prepare" || name == "recover" || phase == PhaseFailed && strings.HasSuffix(name, "-failed") {
				continue
			}
			late := *b // has read the old migration when it was in that phase
			late.m = RestoreMigration(old.r)
			late.m.r.State = phase
			before := b.image()
			if err := event(&late); name != "drained" && fault.KindOf(err) != fault.Conflict {
				t.Errorf("%s of an old migration read while %s: %v", name, phase, err)
			}
			if !reflect.DeepEqual(before, b.image()) {
				t.Errorf("%s of an old migration read while %s changed something", name, phase)
			}
		}
	}
}

// The switch is a compare-and-set on migration, state, generation and manifest root (P5): where the placement's row says
// something else in any of them, or is another tenant's, it refuses and changes nothing.
func TestSwitchComparesEachPartOfTheRow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Record){
		"migration":   func(r *Record) { r.Migration = "mig_777" },
		"none":        func(r *Record) { r.Migration = "" },
		"state":       func(r *Record) { r.State = Copying },
		"active":      func(r *Record) { r.State = Active },
		"switched":    func(r *Record) { r.State = Draining },
		"generation":  func(r *Record) { r.Generation = 2 },
		"root":        func(r *Record) { r.ManifestRoot = root(8) },
		"other owner": func(r *Record) { r.Tenant = "globex" },
	} {
		b := newBench(t).reach(Move, PhaseSwitching)
		change(&b.p.r)
		before := b.image()
		err := b.m.SwitchOver(b.parties(b.m), b.deadlines(), b.now)
		if fault.KindOf(err) != fault.Conflict || !reflect.DeepEqual(before, b.image()) {
			t.Errorf("%s: got %v, changed %t", name, err, !reflect.DeepEqual(before, b.image()))
		}
	}
}
