package placement

import (
	"fmt"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

func TestNodeRefusesNonsenseAndNamesAllOfIt(t *testing.T) {
	t.Parallel()
	_, err := NewNode("", "EU", Capacity{-1, ident.MaxCounter + 1}, at(1))
	var fields []string
	if e, ok := fault.As(err); ok && e.Kind == fault.Invalid {
		for _, part := range e.Errors {
			fields = append(fields, part.Field+" "+part.Slug)
		}
	}
	if got, want := fmt.Sprint(fields), "[id invalid_id region invalid_id capacity.tenants out_of_range capacity.bytes out_of_range]"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	n, err := NewNode("n1", "eu", Capacity{}, at(1))
	must(t, err)
	want := NodeRecord{ID: "n1", Region: "eu", Schedulable: true, Assignments: 1, CreatedAt: ident.Instant(at(1)), ChangedAt: ident.Instant(at(1))}
	if n.Record() != want {
		t.Fatalf("got %+v, want %+v", n.Record(), want)
	}
}

func TestCapacityRefusesWhatNoNumberCanSay(t *testing.T) {
	t.Parallel()
	for c, wrong := range map[Capacity]int{
		{0, 0}: 0, {ident.MaxCounter, ident.MaxCounter}: 0, {-1, 0}: 1, {0, -1}: 1, {ident.MaxCounter + 1, -1}: 2, Boundless(): 0,
	} {
		err := c.Check("capacity")
		got := 0
		if e, ok := fault.As(err); ok {
			got = max(1, len(e.Errors))
		}
		if got != wrong || err != nil && !isSlug(err, "out_of_range") {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// Cordoning touches neither the status nor what the node holds (P12), and what is refused changes nothing.
func TestCordonKeepsStatusAndTenants(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := b.nodes["a"]
	before := n.Node.Record()
	must(t, n.Node.SetSchedulable(false, at(5)))
	if n.Eligible() {
		t.Fatal("a cordoned node takes tenants")
	}
	after := n.Node.Record()
	after.Schedulable, after.ChangedAt = true, before.ChangedAt
	if after != before {
		t.Fatalf("got %+v, want %+v", after, before)
	}
	if c := (Capacity{-1, 0}); !isSlug(n.Node.SetCapacity(c, at(6)), "out_of_range") || n.Node.Record().Capacity != before.Capacity {
		t.Fatal("a refused capacity was set")
	}
	must(t, n.Node.SetCapacity(Capacity{0, 0}, at(6))) // below what it holds: it takes nothing new
	if n.Free() != 0 || n.Node.Record().Tenants != 1 {
		t.Fatalf("got %+v", n.Node.Record())
	}
}

// A node is retired only when it is empty, and then nothing changes it any more.
func TestRetiredNodesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhasePreparing)
	for _, id := range []string{"a", "b"} { // one holds, the other awaits
		before := b.nodes[id].Node.Record()
		refused(t, b.nodes[id].Node.Retire(at(5)), "node_not_empty")
		if b.nodes[id].Node.Record() != before {
			t.Fatal("a refusal changed the node")
		}
	}
	n := b.nodes["c"].Node
	must(t, n.Retire(at(5)))
	before := n.Record()
	for what, err := range map[string]error{
		"register": n.Registered(at(6)), "drain": n.Drain(at(6)), "activate": n.Activate(at(6)), "retire": n.Retire(at(6)),
		"schedulable": n.SetSchedulable(false, at(6)), "capacity": n.SetCapacity(Capacity{1, 1}, at(6)),
	} {
		if fault.KindOf(err) != fault.Conflict || !isSlug(err, "node_retired") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if n.Record() != before {
		t.Fatalf("got %+v, want %+v", n.Record(), before)
	}
}

// The first placement is active at generation 1 and version 1, and counts (P1, P16).
func TestFirstPlacement(t *testing.T) {
	t.Parallel()
	n := online(t, "a", "eu", Capacity{1, 1})
	before := n.Node.Record()
	p := First("acme", n.Node, at(3))
	want := Record{Tenant: "acme", HomeRegion: "eu", Node: "a", Generation: 1, Version: 1, ChangedAt: ident.Instant(at(3))}
	if p.Record() != want || p.Phase() != PhaseActive {
		t.Fatalf("got %+v, want %+v", p.Record(), want)
	}
	if r := n.Node.Record(); r.Tenants != 1 || r.Assignments != before.Assignments+1 || n.Free() != 0 {
		t.Fatalf("the node counts %+v", r)
	}
}

// Every time that is kept is UTC and whole microseconds, so that what is hashed is what is read back.
func TestKeptTimesAreInstants(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = time.Date(2026, 3, 1, 14, 0, 0, 123456789, time.FixedZone("CET", 3600))
	b.lapse("a")
	must(t, b.recoverTo("b"))
	must(t, b.m.Fail(b.parties(b.m), "copy", "late", b.now))
	r := b.m.Record()
	times := []time.Time{r.StartedAt, r.ChangedAt, r.EndedAt, b.p.Record().ChangedAt, Enqueue("acme", "eu", b.now).Since}
	for _, s := range r.Steps {
		times = append(times, s.At)
	}
	for i, kept := range times {
		if kept != ident.Instant(b.now) {
			t.Errorf("time %d is %s", i, kept)
		}
	}
}

func TestDeadlinesNameEachThatIsOut(t *testing.T) {
	t.Parallel()
	must(t, DefaultDeadlines().Check())
	week := 7 * 24 * time.Hour
	must(t, Deadlines{Prepare: time.Second, Quiesce: week, Copy: week, Drain: time.Second}.Check())
	err := Deadlines{Prepare: 0, Quiesce: -1, Copy: week + 1, Drain: time.Second - 1}.Check()
	var fields []string
	if e, ok := fault.As(err); ok {
		for _, part := range e.Errors {
			fields = append(fields, part.Field)
		}
	}
	if got := fmt.Sprint(fields); got != "[deadlines.prepare deadlines.quiesce deadlines.copy deadlines.drain]" {
		t.Fatalf("got %s of %v", got, err)
	}
}
