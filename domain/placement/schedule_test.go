package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// candidates are nodes in any condition.
func candidates(t *rapid.T) []Candidate {
	out := make([]Candidate, rapid.IntRange(0, 6).Draw(t, "nodes"))
	for i := range out {
		small := func(label string) int64 { return rapid.Int64Range(0, 6).Draw(t, label) }
		id := fmt.Sprintf("n%d", i)
		out[i] = Candidate{
			RestoreNode(NodeRecord{
				ID: id, Region: rapid.SampledFrom([]string{"eu", "eu", "us"}).Draw(t, "region"),
				Status:      rapid.SampledFrom([]NodeStatus{NodeActive, NodeActive, NodeActive, NodeJoining, NodeDraining, NodeRetired}).Draw(t, "status"),
				Schedulable: rapid.IntRange(0, 4).Draw(t, "cordoned") > 0,
				Capacity:    Capacity{small("capacity"), small("bytes")}, Tenants: small("tenants"), Inbound: small("inbound"),
			}),
			RestoreLease(LeaseRecord{
				Node: id, Lapsed: rapid.IntRange(0, 4).Draw(t, "offline") == 0,
				Reported: Capacity{small("own limit"), small("own bytes")}, Usage: Capacity{Bytes: small("used")},
			}),
		}
	}
	return out
}

// eligible is P12 in plain words.
func eligible(c Candidate, region string) bool {
	n, l := c.Node.Record(), c.Lease.Record()
	return n.Region == region && n.Status == NodeActive && n.Schedulable && !l.Lapsed &&
		n.Tenants+n.Inbound < n.Capacity.Tenants && n.Tenants+n.Inbound < l.Reported.Tenants &&
		l.Usage.Bytes < n.Capacity.Bytes && l.Usage.Bytes < l.Reported.Bytes
}

// Choose takes an eligible node where there is one, never another nor the excepted one, and none has a larger free share.
func TestChooseTakesTheEligibleNodeWithTheLargestFreeShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all, except := candidates(t), rapid.SampledFrom([]string{"", "n0", "n1"}).Draw(t, "except")
		fit := slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool { return !eligible(c, "eu") || c.Node.Record().ID == except })
		best := Choose("eu", all, except)
		if best == nil {
			if len(fit) > 0 {
				t.Fatalf("nobody was chosen of %d that fit", len(fit))
			}
			return
		}
		if !eligible(*best, "eu") || best.Node.Record().ID == except {
			t.Fatalf("chosen: %+v %+v", best.Node.Record(), best.Lease.Record())
		}
		for _, c := range fit { // a/b < c/d without division
			room := func(c Candidate) int64 { return c.Node.r.Capacity.Least(c.Lease.r.Reported).Tenants }
			if best.Free()*room(c) < c.Free()*room(*best) {
				t.Fatalf("%s has %d of %d free, chosen was %s with %d of %d", c.Node.r.ID, c.Free(), room(c),
					best.Node.r.ID, best.Free(), room(*best))
			}
		}
	})
}

// The choice is the same on every replica, whatever the order in which its store lists the nodes.
func TestChooseDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := candidates(t)
		other := rapid.Permutation(all).Draw(t, "order")
		a, b := Choose("eu", all, ""), Choose("eu", other, "")
		if (a == nil) != (b == nil) || a != nil && a.Node.Record().ID != b.Node.Record().ID {
			t.Fatalf("chosen %+v and %+v", a, b)
		}
	})
}

// With equal shares the node with more room wins, and then the lower id.
func TestChooseBreaksTies(t *testing.T) {
	t.Parallel()
	small, large := online(t, "a", "eu", Capacity{2, 10}), online(t, "b", "eu", Capacity{4, 10})
	twin := online(t, "c", "eu", Capacity{4, 10})
	if got := Choose("eu", []Candidate{twin, small, large}, ""); got.Node.Record().ID != "b" {
		t.Fatalf("chosen %s", got.Node.Record().ID)
	}
}

// A heartbeat lowers what an operator set, and never raises it (P10); zero is no room.
func TestFreeIsTheLowerOfBothLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ operator, own, holds, want int64 }{
		{10, 4, 1, 3}, {4, 10, 1, 3}, {4, 10, 9, 0}, {0, 10, 0, 0}, {10, 0, 0, 0},
	} {
		n := online(t, "a", "eu", Capacity{c.operator, 10})
		n.Node.r.Tenants = c.holds
		must(t, n.Lease.Beat(Beat{Generation: 1, Sequence: 2, Capacity: Capacity{c.own, 10}}, at(2)))
		if got := n.Free(); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}

// fleet is several tenants on three small nodes.
type fleet struct {
	t       *testing.T
	rand    *rand.Rand
	nodes   map[string]Candidate
	tenants []*bench
}

// Whatever is placed, moved, recovered and given up: no node ever takes a tenant, or the reservation of one, beyond the
// lower of its limits (P2, P12), and its counters are what placements and migrations say.
func TestCapacityIsNeverExceeded(t *testing.T) {
	t.Parallel()
	taken := 0
	for seed := range 60 {
		f := &fleet{t: t, rand: rand.New(rand.NewPCG(uint64(seed), 5)), nodes: map[string]Candidate{}}
		for _, id := range []string{"a", "b", "c"} {
			f.nodes[id] = online(t, id, "eu", Capacity{3, 100})
		}
		for range 300 {
			before := f.counts()
			f.act()
			taken += f.compare(before)
		}
	}
	if taken < 1000 {
		t.Fatalf("only %d tenants were taken", taken)
	}
}

func (f *fleet) counts() map[string]int64 {
	out := map[string]int64{}
	for id, c := range f.nodes {
		out[id] = c.Node.r.Tenants + c.Node.r.Inbound
	}
	return out
}

// compare says how many nodes took one more.
func (f *fleet) compare(before map[string]int64) (taken int) {
	f.t.Helper()
	want := map[string]int64{}
	for _, b := range f.tenants {
		want[b.p.r.Node]++
		if b.m != nil && !b.m.Ended() && b.m.r.State != PhaseDraining {
			want[b.m.r.Target]++
		}
	}
	for id, n := range f.counts() {
		if n != want[id] {
			f.t.Fatalf("node %s counts %d, holds and awaits %d", id, n, want[id])
		}
		c := f.nodes[id]
		if n > before[id] {
			taken++
			if limit := c.Node.r.Capacity.Least(c.Lease.r.Reported).Tenants; n > limit {
				f.t.Fatalf("node %s took the %dth of %d", id, n, limit)
			}
		}
	}
	return taken
}

func (f *fleet) act() {
	id := []string{"a", "b", "c"}[f.rand.IntN(3)]
	if r := f.rand.IntN(10); r < 2 || len(f.tenants) == 0 {
		f.place()
		return
	} else if r == 2 {
		f.change(f.nodes[id])
		return
	}
	b := f.tenants[f.rand.IntN(len(f.tenants))]
	b.now = b.now.Add(time.Second)
	running := b.m != nil && !b.m.Ended()
	switch r := f.rand.IntN(10); {
	case r < 3:
		_ = b.prepare(id, "")
	case r < 5:
		holder := b.p.r.Node
		b.lapse(holder)
		_ = b.recoverTo(id)
		b.beat(holder)
	case r < 6 && running:
		_ = b.m.Abort(b.parties(b.m), "", b.now)
	case running:
		b.forward()
	}
}

func (f *fleet) place() {
	all := []Candidate{f.nodes["a"], f.nodes["b"], f.nodes["c"]}
	if best := Choose("eu", all, ""); best != nil {
		tenant := fmt.Sprintf("t%d", len(f.tenants))
		f.tenants = append(f.tenants, &bench{
			t: f.t, nodes: f.nodes, p: First(tenant, best.Node, at(1)), now: at(100),
			backup: &Backup{Tenant: tenant, Generation: 1, Manifest: Manifest{root(7), 7}, At: at(50)},
		})
	}
}

// change moves a limit: the operator's, or the node's own; a new process starts now and then.
func (f *fleet) change(c Candidate) {
	l := c.Lease.Record()
	switch f.rand.IntN(3) {
	case 0:
		must(f.t, c.Node.SetCapacity(Capacity{1 + f.rand.Int64N(5), 100}, at(2)))
	case 1:
		own := Capacity{1 + f.rand.Int64N(5), 100}
		must(f.t, c.Lease.Beat(Beat{Generation: l.Generation, Sequence: l.Sequence + 1, Capacity: own}, at(2)))
	default:
		in := Registration{BootID: fmt.Sprint("boot-", f.rand.Uint64()), StorageID: l.StorageID}
		_, err := c.Lease.Register(in, at(2))
		must(f.t, err)
	}
}

// The queue is served oldest first, and alike everywhere (P12).
func TestQueueIsOldestFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q []Waiting
		for i := range rapid.IntRange(0, 20).Draw(t, "waiting") {
			since := at(rapid.IntRange(0, 5).Draw(t, "since"))
			q = append(q, Enqueue(fmt.Sprintf("t%02d", i), "eu", since))
		}
		other := rapid.Permutation(q).Draw(t, "order")
		SortQueue(q)
		SortQueue(other)
		if !slices.Equal(q, other) {
			t.Fatalf("got %v and %v", q, other)
		}
		for i := 1; i < len(q); i++ {
			if a, b := q[i-1], q[i]; a.Since.After(b.Since) || a.Since.Equal(b.Since) && a.Tenant > b.Tenant {
				t.Fatalf("%v comes before %v", a, b)
			}
		}
	})
}
