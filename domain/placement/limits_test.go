package placement

import (
	"reflect"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// phaseOf is a phase in which each event is allowed.
func phaseOf() map[string]Phase {
	return map[string]Phase{
		"prepare": PhaseNone, "recover": PhaseNone, "quiesce": PhasePreparing, "source-prepared": PhasePreparing,
		"target-prepared": PhasePreparing, "quiesced": PhaseQuiescing, "copied": PhaseCopying, "switch": PhaseSwitching,
		"drained": PhaseDraining, "drain-deadline": PhaseDraining, "abort": PhaseCopying, "fail": PhaseQuiescing,
		"source-failed": PhasePreparing, "target-failed": PhaseSwitching,
	}
}

// ready is a bench on which the event would be allowed.
func ready(t *testing.T, name string) *bench {
	t.Helper()
	b := newBench(t).reach(Move, phaseOf()[name])
	b.now = b.now.Add(time.Hour)
	b.lapse("a")
	return b
}

// No event carries a counter past 2^53-1 (API.md): it refuses and leaves everything as it was, also what it would have
// changed first.
func TestCountersEndWhereTheContractEnds(t *testing.T) {
	t.Parallel()
	limits := map[string]func(*bench){
		"version":       func(b *bench) { b.p.r.Version = ident.MaxCounter },
		"assignments a": func(b *bench) { b.nodes["a"].Node.r.Assignments = ident.MaxCounter },
		"assignments b": func(b *bench) { b.nodes["b"].Node.r.Assignments = ident.MaxCounter },
		"assignments c": func(b *bench) { b.nodes["c"].Node.r.Assignments = ident.MaxCounter },
	}
	for name, event := range events() {
		for limit, set := range limits {
			b := ready(t, name)
			set(b)
			before := b.image()
			err := event(b)
			if err != nil && (fault.KindOf(err) != fault.Exhausted || !reflect.DeepEqual(before, b.image())) {
				t.Errorf("%s at the limit of %s: %v, changed %t", name, limit, err, !reflect.DeepEqual(before, b.image()))
			}
			for id, n := range b.image().Nodes {
				if n.Assignments > ident.MaxCounter {
					t.Errorf("%s at the limit of %s: node %s counts %d", name, limit, id, n.Assignments)
				}
			}
			if v := b.p.Record().Version; v > ident.MaxCounter {
				t.Errorf("%s at the limit of %s: version %d", name, limit, v)
			}
		}
	}
}

// A recover that can not go through leaves the migration that ran, and its reservation, as they were.
func TestRefusedRecoverKeepsWhatRan(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*bench){
		"version": func(b *bench) { b.p.r.Version = ident.MaxCounter },
		"no time": func(b *bench) { b.now = time.Time{} },
		"source":  func(b *bench) { b.nodes["a"].Node.r.Assignments = ident.MaxCounter },
		"other":   func(b *bench) { b.nodes["b"].Node.r.Assignments = ident.MaxCounter },
		"target": func(b *bench) {
			b.nodes["c"].Node.r.Inbound, b.nodes["c"].Node.r.Capacity.Tenants = ident.MaxCounter-1, ident.MaxCounter
		},
		"no place": func(b *bench) { b.nodes["c"].Node.r.Capacity.Tenants = 0 },
	} {
		b := newBench(t).reach(Move, PhaseQuiescing)
		b.lapse("a")
		set(b)
		before := b.image()
		if err := b.recoverTo("c"); err == nil || !reflect.DeepEqual(before, b.image()) {
			t.Errorf("%s: got %v, changed %t", name, err, !reflect.DeepEqual(before, b.image()))
		}
	}
}

// At its last generation a tenant can not be switched, and stays where it is.
func TestGenerationEndsWhereTheContractEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.p.r.Generation = ident.MaxCounter
	b.reach(Move, PhaseSwitching)
	before := b.image()
	refused(t, b.m.SwitchOver(b.parties(b.m), b.deadlines(), b.now), "generation_exhausted")
	if !reflect.DeepEqual(before, b.image()) {
		t.Fatal("the refusal changed something")
	}
	must(t, b.m.Abort(b.parties(b.m), "", b.now))
}

func TestLeaseCountersEndWhereTheContractEnds(t *testing.T) {
	t.Parallel()
	l := RestoreLease(LeaseRecord{Node: "a", BootID: "one", StorageID: "disk-a", Generation: ident.MaxCounter, Epoch: ident.MaxCounter, Lapsed: true})
	before := l.Record()
	_, err := l.Register(registration("two"), at(1))
	refused(t, err, "generation_exhausted")
	refused(t, l.Beat(beat(ident.MaxCounter, 1), at(1)), "epoch_exhausted")
	if l.Record() != before {
		t.Fatalf("got %+v", l.Record())
	}
	l.ReplaceStorage()
	if l.Record().Generation > ident.MaxCounter {
		t.Fatal("replacing the storage went past the limit")
	}
}

// A node whose counters are full still says numbers that survive a JSON number.
func TestFirstPlacementDoesNotPassTheLimit(t *testing.T) {
	t.Parallel()
	n := RestoreNode(NodeRecord{ID: "a", Region: "eu", Tenants: ident.MaxCounter, Assignments: ident.MaxCounter})
	First("acme", n, at(1))
	if r := n.Record(); r.Tenants != ident.MaxCounter || r.Assignments != ident.MaxCounter {
		t.Fatalf("got %+v", r)
	}
}

// An event that comes without the time at which it happens is a defect of the caller and changes nothing.
func TestEventsNeedATime(t *testing.T) {
	t.Parallel()
	for name, event := range events() {
		b := ready(t, name)
		before := b.image()
		b.now = time.Time{}
		if name == "drain-deadline" || name == "quiesce" { // the year one is before every deadline
			if err := event(b); err == nil || !reflect.DeepEqual(before, b.image()) {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		if err := event(b); !isSlug(err, "time_missing") || fault.KindOf(err) != fault.Internal || !reflect.DeepEqual(before, b.image()) {
			t.Errorf("%s: got %v, changed %t", name, err, !reflect.DeepEqual(before, b.image()))
		}
	}
	n, l, never := online(t, "a", "eu", Capacity{1, 1}).Node, online(t, "a", "eu", Capacity{1, 1}).Lease, time.Time{}
	_, err := l.Register(registration("two"), never)
	for what, err := range map[string]error{
		"drain": n.Drain(never), "register": n.Registered(never), "retire": n.Retire(never), "schedulable": n.SetSchedulable(false, never),
		"capacity": n.SetCapacity(Capacity{2, 2}, never), "beat": l.Beat(beat(1, 2), never), "register lease": err,
	} {
		if !isSlug(err, "time_missing") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	_, err = NewNode("a", "eu", Capacity{1, 1}, never)
	refused(t, err, "time_missing")
	_, err = NewRegion("eu", "https://eu.example", never)
	refused(t, err, "time_missing")
	_, err = TakeBackup(nil, newBench(t).p, Reporter{"a", 1}, Manifest{root(1), 1}, never)
	refused(t, err, "time_missing")
	_, err = SchedulePurge("purge_1", newBench(t).p, []string{"a"}, time.Hour, never)
	refused(t, err, "time_missing")
}

// A caller that brings the rows of other nodes to an event is told so before a counter is changed.
func TestEventsRefuseRowsThatAreNotTheirOwn(t *testing.T) {
	t.Parallel()
	for name, event := range events() {
		if name == "prepare" || name == "recover" || name == "source-prepared" || name == "target-prepared" {
			continue // prepared changes no node; the others have tests of their own
		}
		for _, node := range []string{"a", "b"} {
			b := ready(t, name)
			wrong := *b
			wrong.nodes = map[string]Candidate{"a": b.nodes["a"], "b": b.nodes["b"]}
			wrong.nodes[node] = Candidate{b.nodes["c"].Node, b.nodes[node].Lease}
			before := b.image()
			if err := event(&wrong); !isSlug(err, "parties_mismatched") || !reflect.DeepEqual(before, b.image()) {
				t.Errorf("%s with a wrong %s: %v", name, node, err)
			}
		}
	}
	b := newBench(t)
	_, err := Prepare(Plan{ID: "mig_1"}, b.p, b.nodes["c"].Node, b.nodes["b"], b.deadlines(), b.now)
	refused(t, err, "parties_mismatched")
}
