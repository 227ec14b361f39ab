package fleet_test

import (
	"context"
	"testing"
	"time"

	"berth/application/fleet"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// A lease runs out by the control plane's count only: the whole of duration, margin and drift after a sweep first saw
// the row as it is (P9). Then a beat grants a new lease under a higher epoch (P8).
func TestLeaseRunsOutByCount(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.clock.Advance(time.Hour) // nobody looked: nothing is counted
	w.must(w.SweepLeases(w.ctx))
	w.clock.Advance(w.Settings.Lease.CountOut())
	w.beat("b")
	w.must(w.SweepLeases(w.ctx))
	if w.lease("a").Lapsed {
		t.Fatal("the lease ran out at its count, not after it")
	}
	w.clock.Advance(time.Nanosecond)
	w.hints.Took()
	w.must(w.SweepLeases(w.ctx))
	if !w.lease("a").Lapsed || w.lease("b").Lapsed {
		t.Fatalf("after the count the leases are %+v and %+v", w.lease("a"), w.lease("b"))
	}
	if got := w.hints.Took(); len(got) != 1 || got[0] != "node/a" {
		t.Errorf("the lapse hinted at %v", got)
	}
	if e := w.lastEntry("node.lease_lapsed"); e.Subject != "node/a" || e.Actor.Kind != "system" {
		t.Errorf("the lapse was audited as %+v", e)
	}
	before := w.dump()
	w.must(w.SweepLeases(w.ctx))
	w.same(before, "a sweep after the lapse")
	was := w.lease("a").Epoch
	if out := w.beat("a"); out.Epoch != was+1 {
		t.Errorf("the beat after the lapse granted epoch %d after %d", out.Epoch, was)
	}
	if out := w.beat("a"); out.Epoch != was+1 {
		t.Errorf("a beat within the lease raised the epoch to %d", out.Epoch)
	}
}

// A beat starts the count anew, so that a node which beats never lapses; so does a registration, which grants nothing.
func TestBeatsAndRegistrationsRestartTheCount(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	almost := w.Settings.Lease.CountOut() - time.Second
	for range 5 {
		w.must(w.SweepLeases(w.ctx))
		w.clock.Advance(almost)
		w.must(w.SweepLeases(w.ctx))
		w.beat("a")
	}
	w.must(w.SweepLeases(w.ctx))
	w.clock.Advance(almost)
	w.register("a", "boot-2")
	w.must(w.SweepLeases(w.ctx))
	w.clock.Advance(almost)
	w.must(w.SweepLeases(w.ctx))
	if w.lease("a").Lapsed {
		t.Fatal("a row that changed was counted on")
	}
	w.clock.Advance(2 * time.Second)
	w.must(w.SweepLeases(w.ctx))
	if !w.lease("a").Lapsed {
		t.Fatal("a registration kept the lease alive for ever")
	}
	w.register("a", "boot-3")
	if !w.lease("a").Lapsed {
		t.Fatal("a registration granted a lease")
	}
}

// A replica counts from when it first saw the row itself, whatever another one has counted (P9).
func TestEveryReplicaCountsForItself(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.must(w.SweepLeases(w.ctx))
	w.clock.Advance(w.Settings.Lease.CountOut())
	other := w.replica()
	w.must(other.SweepLeases(w.ctx))
	other.clock.Advance(w.Settings.Lease.CountOut())
	w.must(other.SweepLeases(w.ctx))
	if w.lease("a").Lapsed {
		t.Fatal("a replica counted time that it has not seen")
	}
	other.clock.Advance(time.Second)
	w.must(other.SweepLeases(w.ctx))
	if !w.lease("a").Lapsed {
		t.Fatal("the second replica's count never ends")
	}
}

// A replica that grants shorter leases, as one that is started anew with another configuration, counts out what the
// others granted before (P9).
func TestAReplicaWithShorterLeasesCountsWhatWasGranted(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	granted := w.beat("a").Lease
	if got := w.lease("a").Granted; got != granted {
		t.Fatalf("the row says %s, the node was answered %s", got, granted)
	}
	shorter := w.replica()
	shorter.Settings.Lease.Duration = granted / 5
	w.must(shorter.SweepLeases(w.ctx))
	shorter.clock.Advance(w.Settings.Lease.CountOut())
	w.must(shorter.SweepLeases(w.ctx))
	if w.lease("a").Lapsed {
		t.Fatalf("a lease of %s was counted as one of %s", granted, granted/5)
	}
	shorter.clock.Advance(time.Nanosecond)
	w.must(shorter.SweepLeases(w.ctx))
	if !w.lease("a").Lapsed {
		t.Fatal("it is never counted out")
	}
}

// Setting the wall clock, in either direction, makes no lease run out and keeps none alive (P9).
func TestWallClockDoesNotCount(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.must(w.SweepLeases(w.ctx))
	w.clock.Jump(24 * time.Hour)
	w.must(w.SweepLeases(w.ctx))
	if w.lease("a").Lapsed {
		t.Fatal("a jump of the wall clock ended a lease")
	}
	w.clock.Jump(-48 * time.Hour)
	w.clock.Advance(w.Settings.Lease.CountOut() + time.Second)
	w.must(w.SweepLeases(w.ctx))
	if !w.lease("a").Lapsed {
		t.Fatal("a jump of the wall clock kept a lease alive")
	}
}

// A row that went backwards, as after a restore, is counted from when it was seen so (P9).
func TestRestoredRowIsCountedAnew(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	old := w.lease("a")
	w.beat("a")
	w.must(w.SweepLeases(w.ctx))
	w.clock.Advance(w.Settings.Lease.CountOut())
	w.must(w.mem.Atomically(w.ctx, func(ctx context.Context, r *store.Roles) error {
		return r.Leases.Save(ctx, placement.RestoreLease(old))
	}))
	w.must(w.SweepLeases(w.ctx))
	w.clock.Advance(w.Settings.Lease.CountOut())
	w.must(w.SweepLeases(w.ctx))
	if w.lease("a").Lapsed {
		t.Fatal("the restored row was counted from before it was there")
	}
}

// A beat that comes between the count and the transaction wins: the lease that was counted is not the one that runs.
func TestBeatBeatsTheLapse(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.must(w.SweepLeases(w.ctx))
	w.clock.Advance(w.Settings.Lease.CountOut() + time.Second)
	beaten := false
	w.Store = before{w.mem, func() {
		if !beaten {
			beaten = true
			w.beat("a")
		}
	}}
	w.must(w.SweepLeases(w.ctx))
	if !beaten || w.lease("a").Lapsed {
		t.Errorf("beaten %t, lapsed %t", beaten, w.lease("a").Lapsed)
	}
}

// before does something ahead of each write transaction.
type before struct {
	store.Store
	do func()
}

func (s before) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	s.do()
	return s.Store.Atomically(ctx, fn)
}

// A count begins when the row was read, not when the sweep began: a beat that came in between would be counted short.
func TestSlowReadIsNotCounted(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.Store = slow{w.mem, func() {
		w.clock.Advance(w.Settings.Lease.CountOut())
		w.beat("a")
	}}
	w.must(w.SweepLeases(w.ctx))
	w.Store = w.mem
	w.clock.Advance(time.Second)
	w.must(w.SweepLeases(w.ctx))
	if w.lease("a").Lapsed {
		t.Fatal("the time before the row was read was counted")
	}
}

// slow does something ahead of each view.
type slow struct {
	store.Store
	do func()
}

func (s slow) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	s.do()
	return s.Store.View(ctx, fn)
}

// Two replicas that count at once record a lapse once, also where one has read the row before the other wrote it.
func TestReplicasLapseOnce(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	other := w.replica()
	w.must(w.SweepLeases(w.ctx))
	w.must(other.SweepLeases(w.ctx))
	w.clock.Advance(time.Minute)
	other.clock.Advance(time.Minute)
	entries := len(w.entries())
	w.Store = before{w.mem, func() { w.must(other.SweepLeases(w.ctx)) }}
	w.must(w.SweepLeases(w.ctx))
	if n := len(w.entries()) - entries; n != 2 {
		t.Errorf("two lapses were audited %d times", n)
	}
}

// Registering gives the next heartbeat generation to another process, and the same to the latest one that asks again;
// an older process is refused and a joining node becomes active (P10).
func TestRegister(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	w.defineNode("a", "eu", 10)
	if got := w.nodeRecord("a").Status; got != placement.NodeJoining {
		t.Fatalf("a new node is %s", got)
	}
	if g := w.register("a", "boot-1"); g != 1 {
		t.Errorf("the first generation is %d", g)
	}
	if got := w.nodeRecord("a").Status; got != placement.NodeActive {
		t.Errorf("a registered node is %s", got)
	}
	w.hints.Took()
	before := w.dump()
	if g := w.register("a", "boot-1"); g != 1 {
		t.Errorf("the same process got generation %d", g)
	}
	w.same(before, "a repeated registration")
	w.beat("a")
	if g := w.register("a", "boot-2"); g != 2 {
		t.Errorf("the next process got generation %d", g)
	}
	w.gen["a"] = 1
	_, err := w.tryBeat("a")
	w.refused(err, "heartbeat_generation_stale")
	w.gen["a"] = 3
	_, err = w.tryBeat("a")
	w.refused(err, "heartbeat_generation_stale")
	w.gen["a"], w.seq["a"] = 2, 0
	w.beat("a")
	w.seq["a"] = 0
	_, err = w.tryBeat("a")
	w.refused(err, "heartbeat_sequence_stale")
	if e := w.lastEntry("node.registered"); e.Actor.ID != "a" || e.Detail["generation"] != "2" {
		t.Errorf("the registration was audited as %+v", e)
	}
}

// Another data directory registers only after an operator replaced the storage of an empty, silent node (P10).
func TestReplaceStorage(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	other := fleet.RegisterRequest{Caller: caller("b"), Registration: placement.Registration{BootID: "boot-9", StorageID: "disk-new"}}
	_, err := w.Register(w.ctx, other)
	w.refused(err, "storage_changed")
	_, err = w.ReplaceStorage(w.ctx, fleet.NodeRequest{Actor: alice, Node: "a"})
	w.refused(err, "node_not_empty")
	_, err = w.ReplaceStorage(w.ctx, fleet.NodeRequest{Actor: alice, Node: "b"})
	w.refused(err, "lease_not_run_out")
	w.lapseOf("b", "a")
	_, err = w.ReplaceStorage(w.ctx, fleet.NodeRequest{Actor: alice, Node: "b"})
	w.must(err)
	if e := w.lastEntry("node.storage_replaced"); e.Subject != "node/b" || e.Actor != alice {
		t.Errorf("audited as %+v", e)
	}
	_, err = w.tryBeat("b")
	w.refused(err, "heartbeat_generation_stale")
	_, err = w.Register(w.ctx, other)
	w.must(err)
}

// A beat's answer carries all that a node goes by, and the node's own limit lowers the operator's, never raises it.
func TestHeartbeatAnswer(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	out := w.beat("a")
	want := fleet.HeartbeatAnswer{
		Lease: 15 * time.Second, Epoch: 1, ServerTime: noon, Status: placement.NodeActive, Schedulable: true,
		Assignments: w.nodeRecord("a").Assignments,
	}
	if out != want {
		t.Errorf("the beat was answered %+v, want %+v", out, want)
	}
	limited := func(tenants int64) placement.Candidate {
		w.seq["b"]++
		_, err := w.Heartbeat(w.ctx, fleet.HeartbeatRequest{
			Caller: caller("b"), Ticket: w.ticket(), Generation: w.gen["b"], Sequence: w.seq["b"],
			Capacity: &placement.Capacity{Tenants: tenants, Bytes: 1 << 40},
		})
		w.must(err)
		c, err := w.Node(w.ctx, "b")
		w.must(err)
		return c
	}
	if got := limited(3).Free(); got != 3 {
		t.Errorf("with its own limit of 3 the node has %d free", got)
	}
	if got := limited(1000).Free(); got != 100 {
		t.Errorf("with its own limit of 1000 the node has %d free", got)
	}
	_, err := w.Heartbeat(w.ctx, fleet.HeartbeatRequest{
		Caller: caller("b"), Generation: 1, Sequence: 99, Usage: placement.Capacity{Tenants: -1},
	})
	w.refused(err, "out_of_range")
}

// A retired node registers, beats and asks no more (I4).
func TestRetiredNodeIsRefused(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	forbidden := func(err error) {
		t.Helper()
		if fault.KindOf(err) != fault.Forbidden {
			t.Errorf("a retired node is refused as %s", fault.KindOf(err))
		}
	}
	_, err := w.RetireNode(w.ctx, fleet.NodeRequest{Actor: alice, Node: "b"})
	w.must(err)
	before := w.dump()
	w.hints.Took()
	_, err = w.tryBeat("b")
	w.refused(err, "node_retired")
	forbidden(err)
	_, err = w.Register(w.ctx, fleet.RegisterRequest{
		Caller: caller("b"), Ticket: w.ticket(), Registration: placement.Registration{BootID: "x", StorageID: "disk-b"},
	})
	w.refused(err, "node_retired")
	forbidden(err)
	_, err = w.Assignments(w.ctx, fleet.AssignmentsRequest{Caller: caller("b")})
	w.refused(err, "node_retired")
	forbidden(err)
	w.same(before, "a retired node")
}
