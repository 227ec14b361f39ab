package placement

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// history is a bench under random events: operators' commands, reports that are right, wrong, stale, repeated or of other
// migrations, sweeps on time and late, leases that lapse and come back.
type history struct{ *bench }

// Whatever happens to a tenant, in whatever order: see each check of law.
func TestRandomHistoriesKeepTheLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := history{newBench(t)}
		t.Repeat(map[string]func(*rapid.T){
			"":        func(t *rapid.T) { h.standing(t) },
			"prepare": h.prepares, "recover": h.recovers, "abort": h.aborts, "sweep": h.sweeps, "onward": h.onward,
			"prepared": h.prepareds, "quiesced": h.quiesceds, "copied": h.copieds, "drained": h.draineds, "failed": h.faileds,
			"lease": h.leases, "node": h.nodeChanges,
		})
	})
}

// act runs one event and checks what it did to everything.
func (h *history) act(t *rapid.T, name string, event func() error) {
	h.now = h.now.Add(time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "pause")))
	before := h.image()
	err := event()
	h.law(t, name, err, before, h.image())
}

func (h *history) law(t *rapid.T, name string, err error, before, after image) {
	if err != nil {
		if name == "copied" { // the reason of a refusal is kept (P4)
			before, after = unremarked(before), unremarked(after)
		}
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%s was refused with %v and changed\n%+v into\n%+v", name, err, before, after)
		}
		return
	}
	was, is := before.Placement, after.Placement
	if changed := was != is; changed && is.Version != was.Version+1 || !changed && is.Version != was.Version {
		t.Fatalf("%s: version from %d to %d while\n%+v became\n%+v", name, was.Version, is.Version, was, is)
	}
	switched := is.Generation != was.Generation
	if switched && (was.State != Switching || is.State != Draining || is.Generation != was.Generation+1 || is.Node != was.Target) {
		t.Fatalf("%s: generation grew from\n%+v to\n%+v", name, was, is)
	}
	if !switched && (is.Node != was.Node || is.HomeRegion != was.HomeRegion) {
		t.Fatalf("%s: the holder or the region changed without a switch: from\n%+v to\n%+v", name, was, is)
	}
	for i, m := range before.Migrations {
		if m.State >= PhaseDone && !reflect.DeepEqual(m, after.Migrations[i]) {
			t.Fatalf("%s: an ended migration changed from\n%+v to\n%+v", name, m, after.Migrations[i])
		}
		if m.State == PhaseDraining && after.Migrations[i].State == PhaseAborted {
			t.Fatalf("%s: a migration was aborted after its switch", name)
		}
	}
	for id := range h.nodes {
		old, _ := Restore(was).AssignmentFor(id)
		now, _ := Restore(is).AssignmentFor(id)
		if !reflect.DeepEqual(old, now) && after.Nodes[id].Assignments <= before.Nodes[id].Assignments {
			t.Fatalf("%s: node %s is told %+v instead of %+v, but its assignments' version stays", name, id, now, old)
		}
	}
}

// unremarked forgets the notes that a refused copied may leave, where it may leave one.
func unremarked(i image) image {
	if n := len(i.Migrations); n > 0 && i.Migrations[n-1].State == PhaseCopying {
		i.Migrations[n-1].Steps = nil
	}
	return i
}

// standing is what holds at any time: counters say what placements and migrations say, and at most one migration runs,
// which is the one that the placement names.
func (h *history) standing(t *rapid.T) {
	i := h.image()
	p := i.Placement
	running, inbound := "", map[string]int64{}
	for _, m := range i.Migrations {
		if m.State >= PhaseDone {
			continue
		}
		if running != "" {
			t.Fatalf("both %s and %s run", running, m.ID)
		}
		running = m.ID
		if m.State != PhaseDraining {
			inbound[m.Target]++
		}
		if p.State.String() != settled(m.State.String()) || p.Source != m.Source || p.Target != m.Target ||
			p.ManifestRoot != m.ManifestRoot || p.LastSequence != m.LastSequence {
			t.Fatalf("the placement does not say what its migration says:\n%+v\n%+v", p, m)
		}
	}
	if p.Migration != running || running == "" && (p.State != Active || p.Source+p.Target+p.ManifestRoot != "") {
		t.Fatalf("migration %q runs, the placement says\n%+v", running, p)
	}
	for id, n := range i.Nodes {
		if holds := map[bool]int64{true: 1}[id == p.Node]; n.Tenants != holds || n.Inbound != inbound[id] {
			t.Fatalf("node %s counts %d tenants and %d inbound, want %d and %d", id, n.Tenants, n.Inbound, holds, inbound[id])
		}
	}
}

func (h *history) node(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "node")
}

func (h *history) prepares(t *rapid.T) {
	h.act(t, "prepare", func() error {
		return h.prepare(h.node(t), rapid.SampledFrom([]string{"", "", "", "us", "eu"}).Draw(t, "rehome"))
	})
}

func (h *history) recovers(t *rapid.T) {
	if h.nodes[h.p.r.Node].Lease.Live() && rapid.Bool().Draw(t, "lapse first") {
		h.lapse(h.p.r.Node)
	}
	h.act(t, "recover", func() error { return h.recoverTo(h.node(t)) })
}

// one picks a migration, mostly the last.
func (h *history) one(t *rapid.T) *Migration {
	if h.m == nil {
		t.Skip("there is no migration yet")
	}
	if len(h.past) == 0 || rapid.IntRange(0, 3).Draw(t, "last") > 0 {
		return h.m
	}
	return rapid.SampledFrom(h.past).Draw(t, "migration")
}

func (h *history) reporter(t *rapid.T, m *Migration, right string, generation int64) Reporter {
	node := rapid.SampledFrom([]string{right, right, right, m.r.Source, m.r.Target, "c"}).Draw(t, "reporter")
	off := rapid.SampledFrom([]int64{0, 0, 0, 0, -1, 1, -generation}).Draw(t, "off")
	return Reporter{node, generation + off}
}

func (h *history) any(t *rapid.T, m *Migration) Manifest {
	right := Manifest{m.r.ManifestRoot, m.r.LastSequence}
	if m.r.ManifestRoot == "" || rapid.IntRange(0, 4).Draw(t, "right") == 0 {
		n := rapid.IntRange(1, 3).Draw(t, "manifest")
		return Manifest{root(n), int64(n)}
	}
	return right
}

func (h *history) aborts(t *rapid.T) {
	m := h.one(t)
	h.act(t, "abort", func() error { return m.Abort(h.parties(m), "no more wanted", h.now) })
}

func (h *history) prepareds(t *rapid.T) {
	m := h.one(t)
	h.act(t, "prepared", func() error {
		r := h.reporter(t, m, rapid.SampledFrom([]string{m.r.Source, m.r.Target}).Draw(t, "side"), m.r.Generation)
		_, err := m.Prepared(h.parties(m), r, rapid.Int64Range(-1, 5).Draw(t, "base"), h.now)
		return err
	})
}

func (h *history) quiesceds(t *rapid.T) {
	m := h.one(t)
	h.act(t, "quiesced", func() error {
		return m.Quiesced(h.parties(m), h.reporter(t, m, m.r.Source, m.r.Generation), h.any(t, m), h.deadlines(), h.now)
	})
}

func (h *history) copieds(t *rapid.T) {
	m := h.one(t)
	h.act(t, "copied", func() error {
		return m.Copied(h.parties(m), h.reporter(t, m, m.r.Target, m.r.Generation), h.any(t, m), h.now)
	})
}

func (h *history) draineds(t *rapid.T) {
	m := h.one(t)
	h.act(t, "drained", func() error {
		return m.Drained(h.parties(m), h.reporter(t, m, m.r.Source, m.r.Generation+1), h.now)
	})
}

func (h *history) faileds(t *rapid.T) {
	m := h.one(t)
	h.act(t, "failed", func() error {
		return m.Reported(h.parties(m), h.reporter(t, m, m.r.Target, m.r.Generation), "copy", "disk full", h.now)
	})
}

// onward takes the next step, so that histories get far.
func (h *history) onward(t *rapid.T) {
	if h.m == nil || h.m.Ended() {
		t.Skip("nothing runs")
	}
	if h.m.r.State != PhasePreparing { // which takes three events
		h.act(t, "onward", func() error { h.forward(); return nil })
		return
	}
	h.forward()
}

// sweeps does what is due, or what was due to a sweep that read an older state.
func (h *history) sweeps(t *rapid.T) {
	m := h.one(t)
	lease := h.nodes[m.r.Source].Lease
	late := rapid.SampledFrom([]time.Duration{0, 0, time.Hour}).Draw(t, "late")
	h.act(t, "sweep", func() error {
		h.now = h.now.Add(late)
		action := m.Due(h.deadlines(), lease.Live(), h.now)
		if rapid.IntRange(0, 9).Draw(t, "stale") == 0 {
			action = Action(rapid.IntRange(0, int(DoEndDrain)).Draw(t, "action"))
		}
		switch w := h.parties(m); action {
		case Wait:
			return nil
		case DoQuiesce:
			return m.Quiesce(w, h.deadlines(), h.now)
		case DoSwitch:
			return m.SwitchOver(w, h.deadlines(), h.now)
		case DoFail:
			return m.Fail(w, m.r.State.String(), "late", h.now)
		}
		return m.DrainDeadline(h.parties(m), lease, h.now)
	})
}

func (h *history) leases(t *rapid.T) {
	node := h.node(t)
	if rapid.Bool().Draw(t, "lapse") {
		h.lapse(node)
		return
	}
	h.beat(node)
}

func (h *history) nodeChanges(t *rapid.T) {
	n := h.nodes[h.node(t)].Node
	h.act(t, "node", func() error {
		switch rapid.IntRange(0, 4).Draw(t, "change") {
		case 0:
			return n.Drain(h.now)
		case 1:
			return n.Activate(h.now)
		case 2:
			return n.SetSchedulable(rapid.Bool().Draw(t, "on"), h.now)
		case 3:
			return n.SetCapacity(Capacity{rapid.Int64Range(-1, 3).Draw(t, "tenants"), 1000}, h.now)
		}
		if n.r.ID == "c" { // one node may go for good
			return n.Retire(h.now)
		}
		return n.Registered(h.now)
	})
}
