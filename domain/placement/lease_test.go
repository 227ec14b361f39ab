package placement

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/ident"
)

func registration(boot string) Registration {
	return Registration{BootID: boot, StorageID: "disk-a", Version: "1.2.3", Advertise: "a.example:7000"}
}

func registered(t tb, l *Lease, boot string) int64 {
	t.Helper()
	g, err := l.Register(registration(boot), at(1))
	must(t, err)
	return g
}

func beat(generation, sequence int64) Beat {
	return Beat{Generation: generation, Sequence: sequence, Capacity: Boundless()}
}

// The latest process that asks again is given the same generation; any other gets the next, an earlier one too (P10, §14).
func TestRegisterGivesEachProcessItsOwnGeneration(t *testing.T) {
	t.Parallel()
	l := NewLease("a")
	for _, step := range []struct {
		boot string
		want int64
	}{{"one", 1}, {"one", 1}, {"two", 2}, {"two", 2}, {"one", 3}, {"two", 4}} {
		if g := registered(t, l, step.boot); g != step.want {
			t.Fatalf("%s got generation %d, want %d", step.boot, g, step.want)
		}
	}
}

// A repetition keeps the sequence, so that no beat counts twice; a new process starts its own.
func TestRegisterAgainKeepsTheSequence(t *testing.T) {
	t.Parallel()
	l := NewLease("a")
	g := registered(t, l, "one")
	must(t, l.Beat(beat(g, 5), at(2)))
	registered(t, l, "one")
	refused(t, l.Beat(beat(g, 5), at(3)), "heartbeat_sequence_stale")
	must(t, l.Beat(beat(registered(t, l, "two"), 1), at(4)))
}

// Registering neither grants a lease nor ends the one that another process may still hold (the model's M10), and until its
// first beat the node's own limit is what it last said.
func TestRegisterTouchesNeitherLeaseNorCapacity(t *testing.T) {
	t.Parallel()
	l := NewLease("a")
	registered(t, l, "one")
	if l.Live() {
		t.Fatal("registering granted a lease")
	}
	own := Beat{Generation: 1, Sequence: 1, Capacity: Capacity{2, 2}}
	must(t, l.Beat(own, at(2)))
	registered(t, l, "two")
	if r := l.Record(); !l.Live() || r.Epoch != 1 || r.Reported != own.Capacity {
		t.Fatalf("got %+v", r)
	}
}

// A node is its identity and its data directory (P10): another one is refused and changes nothing.
func TestAnotherStorageIsRefused(t *testing.T) {
	t.Parallel()
	l := NewLease("a")
	registered(t, l, "one")
	before := l.Record()
	for _, boot := range []string{"one", "two"} {
		in := registration(boot)
		in.StorageID = "disk-b"
		_, err := l.Register(in, at(2))
		refused(t, err, "storage_changed")
	}
	if l.Record() != before {
		t.Fatalf("got %+v, want %+v", l.Record(), before)
	}
}

// After an operator replaced the storage the process on the old one is refused, and whichever disk registers next is the
// node from then on.
func TestReplacedStorageShutsTheOldProcessOut(t *testing.T) {
	t.Parallel()
	l := NewLease("a")
	old := registered(t, l, "one")
	l.ReplaceStorage()
	refused(t, l.Beat(beat(old, 1), at(2)), "heartbeat_generation_stale")
	in := registration("two")
	in.StorageID = "disk-b"
	g, err := l.Register(in, at(3))
	must(t, err)
	must(t, l.Beat(beat(g, 1), at(4)))
	_, err = l.Register(registration("one"), at(5))
	refused(t, err, "storage_changed")
}

// Storage is replaced only where that endangers nobody: no tenant on the node or bound for it, and no process that runs.
func TestStorageIsReplacedOnlyOnAnEmptyNodeThatIsOff(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhasePreparing)
	for _, node := range []string{"a", "b"} { // a holds the tenant, b awaits it
		b.lapse(node)
		refused(t, b.nodes[node].ReplaceStorage(), "node_not_empty")
	}
	refused(t, b.nodes["c"].ReplaceStorage(), "lease_not_run_out")
	if b.nodes["c"].Lease.Record().StorageID != "disk-c" {
		t.Fatal("a refusal forgot the storage")
	}
	b.lapse("c")
	must(t, b.nodes["c"].ReplaceStorage())
}

// The generation must be equal, neither lower nor higher, and within it the sequence must grow (P10, §14).
func TestStaleBeatsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	l := NewLease("a")
	refused(t, l.Beat(beat(0, 1), at(0)), "heartbeat_generation_stale") // nobody registered yet
	registered(t, l, "one")
	g := registered(t, l, "two")
	must(t, l.Beat(beat(g, 7), at(1)))
	before := l.Record()
	for _, c := range []struct {
		generation, sequence int64
		slug                 string
	}{
		{g - 1, 8, "heartbeat_generation_stale"}, {g + 1, 8, "heartbeat_generation_stale"}, {0, 8, "heartbeat_generation_stale"},
		{g, 7, "heartbeat_sequence_stale"}, {g, 6, "heartbeat_sequence_stale"}, {g, 0, "heartbeat_sequence_stale"},
		{-1, 8, "out_of_range"}, {g, -1, "out_of_range"}, {g, ident.MaxCounter + 1, "out_of_range"},
	} {
		refused(t, l.Beat(beat(c.generation, c.sequence), at(2)), c.slug)
		if l.Record() != before {
			t.Fatalf("%+v changed the lease to %+v", c, l.Record())
		}
	}
	must(t, l.Beat(beat(g, 9), at(3))) // a gap is no matter
	must(t, l.Beat(beat(g, ident.MaxCounter), at(4)))
}

// A lapse is a compare-and-set on the row that was counted (P9): a beat or a registration in between wins.
func TestLapseLosesToABeatOrARegistration(t *testing.T) {
	t.Parallel()
	l := NewLease("a")
	g := registered(t, l, "one")
	must(t, l.Beat(beat(g, 1), at(1)))
	counted := l.Mark()
	must(t, l.Beat(beat(g, 2), at(2)))
	refused(t, l.Lapse(counted), "lease_renewed")
	counted = l.Mark()
	registered(t, l, "two")
	refused(t, l.Lapse(counted), "lease_renewed")
	if !l.Live() {
		t.Fatal("a refused lapse ended the lease")
	}
	must(t, l.Lapse(l.Mark()))
	must(t, l.Lapse(l.Mark())) // again: it stays so
	if l.Live() {
		t.Fatal("the lease still runs")
	}
}

// The epoch grows exactly when a lease is granted after the last one ran out (P8), whatever else happens between.
func TestEpochGrowsExactlyWhenALapsedLeaseIsGrantedAnew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, epoch, lapsed := NewLease("a"), int64(0), true
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			r := l.Record()
			switch rapid.IntRange(0, 4).Draw(t, "event") {
			case 0:
				registered(t, l, rapid.SampledFrom([]string{"one", "two"}).Draw(t, "boot"))
			case 1:
				must(t, l.Lapse(l.Mark()))
				lapsed = true
			case 2:
				_ = l.Lapse(Mark{Generation: r.Generation, Sequence: r.Sequence + 1})
			case 3:
				_ = l.Beat(beat(r.Generation-1, r.Sequence+1), at(2))
			default:
				if l.Beat(beat(r.Generation, r.Sequence+1), at(2)) == nil && lapsed {
					epoch, lapsed = epoch+1, false
				}
			}
			if r := l.Record(); r.Epoch != epoch || r.Lapsed != lapsed || l.Live() == lapsed {
				t.Fatalf("got %+v, want epoch %d and lapsed %t", r, epoch, lapsed)
			}
		}
	})
}

func TestRegisterRefusesNonsense(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	for name, c := range map[string]struct {
		change func(*Registration)
		field  string
	}{
		"no boot id":          {func(r *Registration) { r.BootID = "" }, "boot_id"},
		"long boot id":        {func(r *Registration) { r.BootID = long }, "boot_id"},
		"no storage id":       {func(r *Registration) { r.StorageID = "" }, "storage_id"},
		"storage with space":  {func(r *Registration) { r.StorageID = "disk a" }, "storage_id"},
		"version not ASCII":   {func(r *Registration) { r.Version = "1.0é" }, "version"},
		"control character":   {func(r *Registration) { r.Version = "1\x00" }, "version"},
		"delete character":    {func(r *Registration) { r.Advertise = "a\x7f" }, "advertise"},
		"too long to reach":   {func(r *Registration) { r.Advertise = strings.Repeat("a", 256) }, "advertise"},
		"line feed in a name": {func(r *Registration) { r.BootID = "a\nb" }, "boot_id"},
	} {
		l, in := NewLease("a"), registration("one")
		c.change(&in)
		_, err := l.Register(in, at(1))
		if e, ok := fault.As(err); !ok || e.Kind != fault.Invalid || e.Slug != "invalid_text" || e.Field != c.field {
			t.Errorf("%s: got %v", name, err)
		}
		if l.Record() != NewLease("a").Record() {
			t.Errorf("%s: a refusal changed the lease", name)
		}
	}
}

// Every field that is wrong is named at once.
func TestBeatNamesEveryWrongFigure(t *testing.T) {
	t.Parallel()
	b := Beat{Generation: -1, Sequence: -1, Capacity: Capacity{-1, ident.MaxCounter + 1}, Usage: Capacity{-1, -1}}
	e, _ := fault.As(NewLease("a").Beat(b, at(1)))
	if e == nil || len(e.Errors) != 6 {
		t.Fatalf("got %+v", e)
	}
}
