package placement

import (
	"reflect"
	"testing"
)

// P13, every case: suspended tenant × placement state × what its node is.
func TestConnectionStateInEveryCase(t *testing.T) {
	t.Parallel()
	nodes := map[string]func(Candidate) *Candidate{
		"active and online": func(c Candidate) *Candidate { return &c },
		"cordoned":          func(c Candidate) *Candidate { c.Node.r.Schedulable = false; return &c },
		"joining":           func(c Candidate) *Candidate { c.Node.r.Status = NodeJoining; return &c },
		"draining":          func(c Candidate) *Candidate { c.Node.r.Status = NodeDraining; return &c },
		"retired":           func(c Candidate) *Candidate { c.Node.r.Status = NodeRetired; return &c },
		"offline":           func(c Candidate) *Candidate { c.Lease.r.Lapsed = true; return &c },
		"unknown":           func(Candidate) *Candidate { return nil },
		"another node":      func(c Candidate) *Candidate { c.Node.r.ID = "b"; return &c },
	}
	serving := map[string]bool{"active and online": true, "cordoned": true}
	for name, node := range nodes {
		for s := range stateNames {
			state := State(s)
			want := Migrating
			if state == Active || state == Draining {
				want = NodeUnavailable
				if serving[name] {
					want = Ready
				}
			}
			p := Restore(Record{Tenant: "acme", Node: "a", Generation: 1, Version: 1, State: state})
			c := node(online(t, "a", "eu", Capacity{1, 1}))
			if got := Connection(false, p, c); got != want {
				t.Errorf("%s, node %s: got %s, want %s", state, name, got, want)
			}
			if got := Connection(true, p, c); got != Suspended {
				t.Errorf("suspended in %s, node %s: got %s", state, name, got)
			}
		}
	}
	if got := Connection(false, nil, nil); got != Placing {
		t.Errorf("without a place: got %s", got)
	}
	if got := Connection(true, nil, nil); got != Suspended {
		t.Errorf("suspended without a place: got %s", got)
	}
}

// A preparation ends where its tenant's node is: devices stay ready while a base is copied ahead (P1, P13).
func TestPreparingDoesNotDisturbDevices(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhasePreparing)
	c := b.nodes["a"]
	if got := Connection(false, b.p, &c); got != Ready {
		t.Fatalf("got %s", got)
	}
}

// What each node is told in each phase of a move from a to b.
func TestAssignmentsInEveryPhase(t *testing.T) {
	t.Parallel()
	stranger := Assignment{}
	for _, c := range []struct {
		phase      Phase // of the placement
		reached    Phase // of the migration
		generation int64
		version    int64
		state      State
		source     Role
		target     Role
		known      bool // the manifest
	}{
		{PhaseActive, PhaseNone, 1, 1, Active, RoleOwner, RoleStranger, false},
		{PhasePreparing, PhasePreparing, 1, 2, Active, RoleSource, RoleTarget, false},
		{PhaseQuiescing, PhaseQuiescing, 1, 3, Quiescing, RoleSource, RoleTarget, false},
		{PhaseCopying, PhaseCopying, 1, 4, Copying, RoleSource, RoleTarget, true},
		{PhaseSwitching, PhaseSwitching, 1, 5, Switching, RoleSource, RoleTarget, true},
		{PhaseDraining, PhaseDraining, 2, 6, Draining, RoleSource, RoleTarget, true},
		{PhaseActive, PhaseDone, 2, 7, Active, RoleStranger, RoleOwner, false},
		{PhaseActive, PhaseAborted, 1, 3, Active, RoleOwner, RoleStranger, false},
		{PhaseActive, PhaseFailed, 1, 3, Active, RoleOwner, RoleStranger, false},
	} {
		b := newBench(t).reach(Move, c.reached)
		if got := b.p.Phase(); got != c.phase {
			t.Errorf("after %s the phase is %s, want %s", c.reached, got, c.phase)
		}
		for node, role := range map[string]Role{"a": c.source, "b": c.target, "c": RoleStranger, "": RoleStranger} {
			want := Assignment{Tenant: "acme", Generation: c.generation, Version: c.version, State: c.state, Role: role}
			if role == RoleSource || role == RoleTarget {
				m := &AssignedMigration{ID: "mig_001", Phase: c.phase, Peer: map[string]string{"a": "b", "b": "a"}[node]}
				if c.known {
					m.ManifestRoot, m.LastSequence = root(9), 9
				}
				want.Migration = m
			}
			if role == RoleStranger {
				want = stranger
			}
			got, ok := b.p.AssignmentFor(node)
			if ok == (role == RoleStranger) || !reflect.DeepEqual(got, want) || b.p.RoleOf(node) != role {
				t.Errorf("after %s node %q is told %+v as %s, want %+v", c.reached, node, got, b.p.RoleOf(node), want)
			}
		}
	}
}

// A recover is told as a migration whose source is the lost node.
func TestAssignmentsOfARecover(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Recovery, PhaseCopying)
	got, ok := b.p.AssignmentFor("b")
	want := Assignment{
		Tenant: "acme", Generation: 1, Version: 2, State: Copying, Role: RoleTarget,
		Migration: &AssignedMigration{ID: "mig_001", Phase: PhaseCopying, Peer: "a", ManifestRoot: root(7), LastSequence: 7},
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

// Only in active and draining, and only on its node, may a tenant be written (P8).
func TestWritableAndHolds(t *testing.T) {
	t.Parallel()
	for s := range stateNames {
		p := Restore(Record{Node: "a", State: State(s)})
		if want := State(s) == Active || State(s) == Draining; p.Writable() != want {
			t.Errorf("%s: writable %t", State(s), p.Writable())
		}
		if !p.Holds("a") || p.Holds("b") || p.Holds("") {
			t.Errorf("%s: the wrong node holds it", State(s))
		}
	}
}

// What a damaged row could hold is named and allows nothing.
func TestUnknownValuesAllowNothing(t *testing.T) {
	t.Parallel()
	p := Restore(Record{Node: "a", State: 99})
	if p.Phase() != PhaseNone || p.Writable() || State(99).String() != "unknown" {
		t.Errorf("state 99 is phase %s", p.Phase())
	}
	if Phase(99).String() != "none" || Role(99).String() != "stranger" || NodeStatus(99).String() != "retired" ||
		PurgeState(99).String() != "unknown" {
		t.Error("an unknown value has a name that allows something")
	}
	if n := (Candidate{RestoreNode(NodeRecord{Status: 99, Schedulable: true, Capacity: Boundless()}), NewLease("a")}); n.Eligible() {
		t.Error("a node of unknown status takes tenants")
	}
}
