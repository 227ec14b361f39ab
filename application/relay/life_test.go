package relay_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/authority"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine"
)

// A process that another one replaced as the node stops serving at once and ends, by a refusal of its own (P10). On a copy
// of the disk the other one serves nothing until the lease of the first is over.
func TestAnotherProcessIsTheNode(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		first, ended := r.node, r.ended
		r.disk = r.disk.Clone()
		r.place = "elsewhere"
		began := time.Now()
		r.start()
		for len(ended) == 0 {
			if _, err := first.Gate().Write("t0"); err == nil && r.write() == "" {
				t.Fatal("both may write")
			}
			pass(5 * time.Millisecond)
		}
		if err := <-ended; fault.SlugOf(err) != "node_superseded" {
			t.Fatalf("the first ends with %v", err)
		}
		if _, err := first.Gate().Write("t0"); fault.SlugOf(err) != "node_superseded" {
			t.Fatalf("the first answers %v", err)
		}
		r.within(time.Minute, "the second may write", func() bool { return r.write() == "" })
		if waited := time.Since(began); waited < terms().Duration {
			t.Fatalf("the second waited for %v", waited)
		}
	})
}

// A restart on the same disk writes again within moments: nobody else can hold a lease.
func TestRestartWaitsForNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.within(time.Second, "it may write again", func() bool { return r.write() == "" })
	})
}

// Another data directory under the node's identity is refused, with its cure, until an operator replaced the storage (P10).
func TestAnotherStorageIsRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		register := placement.Registration{BootID: "b", StorageID: "other"}
		if _, err := (&authoritytest.Client{Control: r.control, Node: "n0"}).Register(t.Context(), register); err != nil {
			t.Fatal(err)
		}
		r.start()
		pass(30 * time.Second)
		s := r.node.Status()
		if f, ok := fault.As(s.Why); !ok || f.Slug != "storage_changed" || f.Cure == "" || s.Ready() || r.write() == "" {
			t.Fatalf("ready: %v, why: %v", s.Ready(), s.Why)
		}
		r.control.ReplaceStorage("n0")
		r.within(10*time.Second, "it is taken", func() bool { return r.node.Status().Ready() })
	})
}

// A copy of the running process, as of a cloned machine, beats by the same generation: each finds out, and none goes on.
func TestBeatsOfAnotherByTheSameGeneration(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		lease := r.control.Lease("n0")
		copied := &authoritytest.Client{Control: r.control, Node: "n0"}
		if _, err := copied.Beat(t.Context(), authority.Beat{Generation: lease.Generation, Sequence: lease.Sequence + 1}); err != nil {
			t.Fatal(err)
		}
		r.within(10*time.Second, "it ends", func() bool { return len(r.ended) == 1 })
		if slug := r.write(); slug != "node_superseded" {
			t.Fatalf("it answers %q", slug)
		}
	})
}

// A beat that was given up and arrived after all makes a sequence stale that is followed by a higher one: no reason to end.
func TestStaleSequenceAfterALostBeat(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		var beats atomic.Int64
		r.spoiled(func(method string, back bool) error {
			if method == "Beat" && !back && beats.Add(1) == 1 {
				lease := r.control.Lease("n0")
				late := &authoritytest.Client{Control: r.control, Node: "n0"}
				_, _ = late.Beat(t.Context(), authority.Beat{Generation: lease.Generation, Sequence: lease.Sequence + 2})
				return authoritytest.Lost()
			}
			return nil
		})
		pass(20 * time.Second)
		if slug := r.write(); slug != "" || beats.Load() < 3 {
			t.Fatalf("after %d beats: %q", beats.Load(), slug)
		}
	})
}

// A lost answer to registering is asked for again by the same boot id, and gives the same generation (P10).
func TestLostRegistration(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		var once atomic.Bool
		r.spoiled(func(method string, back bool) error {
			if method == "Register" && back && !once.Swap(true) {
				return authoritytest.Lost()
			}
			return nil
		})
		r.up()
		if s := r.node.Status(); s.Generation != 1 || r.called("Register") != 2 {
			t.Fatalf("generation %d after %d tries", s.Generation, r.called("Register"))
		}
	})
}

// What was seen once is the least that is accepted, over a restart too: a control plane that knows less is not followed
// (P15, D4).
func TestAcceptsNothingOlderAfterARestart(t *testing.T) {
	t.Parallel()
	for _, seen := range []engine.Seen{{Tenant: "t0", Generation: 2, Version: 1}, {Tenant: "t0", Generation: 1, Version: 2}} {
		bubble(t, func(r *rig) {
			if err := r.disk.Saw(t.Context(), []engine.Seen{seen}); err != nil {
				t.Fatal(err)
			}
			r.start()
			pass(20 * time.Second)
			if slug := r.write(); slug != "not_holder" || r.node.Counts().Older == 0 || r.disk.Look("t0").Copy.Present {
				t.Fatalf("it follows what is older than %+v: %q", seen, slug)
			}
		})
	}
}

// What was told is durable before anything rests on it: where the disk does not let it, the node goes on denying.
func TestDiskAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.start()
		r.within(5*time.Second, "it is registered", func() bool { return r.node.Status().Registered })
		r.disk.Break(errBroken)
		r.control.AddTenant("t1", "n0")
		pass(10 * time.Second)
		p := phoneOf(r.control.Pair("t1", authorization.Owner))
		if err := p.enter(r.t.Context(), r.node); err == nil {
			t.Fatal("it serves what it could not remember to have been told")
		}
		r.disk.Break(nil)
		r.within(10*time.Second, "it goes on", func() bool { return p.enter(r.t.Context(), r.node) == nil })
		if _, err := r.node.Gate().Write("t1"); err != nil {
			t.Fatal(err)
		}
	})
}

// A change of a tenant reaches the node at once by a hint; by the poll alone where hints are lost; and by a snapshot where
// the change log is gone (A3, A4).
func TestChangesArrive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost   string
		within time.Duration
	}{"by hint": {"Poll", 10 * time.Millisecond}, "by poll": {"Hints", 5 * time.Second}} {
		for _, compacted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, compacted %v", name, compacted), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(r *rig) {
					r.up()
					r.spoiled(func(method string, _ bool) error {
						if method == c.lost {
							return authoritytest.Lost()
						}
						return nil
					})
					pass(35 * time.Second)
					before := r.node.Counts()
					r.control.Suspend("t0")
					if compacted {
						r.control.Compact("t0")
					}
					r.within(c.within, "it denies", func() bool { return r.write() == "tenant_not_active" })
					if after := r.node.Counts(); (after.Snapshots > before.Snapshots) != compacted || (after.Deltas > before.Deltas) == compacted {
						t.Errorf("from %+v to %+v", before, after)
					}
					r.control.Resume("t0")
					r.within(c.within+time.Second, "it permits", func() bool { return r.write() == "" })
				})
			})
		}
	}
}

// Thousands of open tenants are served by batches of bounded polls and by a bounded number of hands.
func TestThousandsOfTenants(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		const many = 2100 // more than one poll takes
		r.tune = func(s *relay.Settings) { s.MaxEngines = many + 1 }
		for i := range many {
			r.control.AddTenant(fmt.Sprintf("m%d", i), "n0")
		}
		var now, most atomic.Int64
		r.spoiled(func(method string, back bool) error {
			if method != "Snapshot" {
				return nil
			}
			if back {
				now.Add(-1)
				return nil
			}
			most.Store(max(most.Load(), now.Add(1)))
			pass(5 * time.Millisecond)
			return nil
		})
		before := runtime.NumGoroutine()
		r.start()
		r.within(5*time.Second, "the tenants are known", func() bool { return len(r.node.Tenants()) == many+1 })
		for i := range many {
			go func() {
				_ = phoneOf(r.control.Pair(fmt.Sprintf("m%d", i), authorization.Owner)).enter(r.t.Context(), r.node)
			}()
		}
		all := func() (n int) {
			for _, s := range r.node.Tenants() {
				if s.Write == nil {
					n++
				}
			}
			return n
		}
		for range 10 {
			if pass(5 * time.Second); all() == many+1 {
				break
			}
		}
		if n := all(); n != many+1 {
			t.Fatalf("%d tenants may be written", n)
		}
		pass(90 * time.Second)
		if n, goroutines := all(), runtime.NumGoroutine()-before; n != many+1 || most.Load() > 8 || goroutines > 100 {
			t.Fatalf("after minutes %d tenants may be written, %d snapshots at a time, %d goroutines", n, most.Load(), goroutines)
		}
	})
}

// A source fences before it reports, goes on to read until the switch, drains, and collects what it left behind; what it saw
// it remembers.
func TestMoves(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		peer := &authoritytest.Client{Control: r.control, Node: "n1"}
		if _, err := peer.Register(t.Context(), placement.Registration{BootID: "b", StorageID: "s"}); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Beat(t.Context(), authority.Beat{Generation: 1, Sequence: 1}); err != nil {
			t.Fatal(err)
		}
		id, err := r.control.Migrate("t0", "n1")
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.Prepared(t.Context(), id, 1, 0); err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "the source fenced and reported it", func() bool { return r.control.Migration(id).State == placement.PhaseCopying })
		m := r.control.Migration(id)
		if slug := r.write(); slug != "not_holder" || !r.disk.Look("t0").Copy.Fenced || r.node.Gate().Read("t0") != nil {
			t.Fatalf("while copying: %q, read: %v", slug, r.node.Gate().Read("t0"))
		}
		if err := (placement.Content{Tenant: "t0", Generation: 1}).Verify(placement.Manifest{Root: m.ManifestRoot, LastSequence: m.LastSequence}); err != nil {
			t.Fatal(err)
		}
		if err := peer.Copied(t.Context(), id, 1, placement.Manifest{Root: m.ManifestRoot}); err != nil {
			t.Fatal(err)
		}
		r.control.Sweep()
		r.within(time.Second, "the source drained", func() bool { return r.control.Migration(id).State == placement.PhaseDone })
		r.within(time.Second, "its copy is collected", func() bool { return !r.disk.Look("t0").Copy.Present })
		if seen := r.disk.Look("t0").Seen; seen.Generation != 2 {
			t.Fatalf("it forgot what it saw: %+v", seen)
		}
	})
}

// A fence whose commit failed denies all the same, is tried again, and is on the disk before it is reported (P3).
func TestFenceThatFails(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		peer := &authoritytest.Client{Control: r.control, Node: "n1"}
		if _, err := peer.Register(t.Context(), placement.Registration{BootID: "b", StorageID: "s"}); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Beat(t.Context(), authority.Beat{Generation: 1, Sequence: 1}); err != nil {
			t.Fatal(err)
		}
		id, err := r.control.Migrate("t0", "n1")
		if err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "the source prepared", func() bool { return r.control.Migration(id).SourcePrepared })
		r.brittle.Store(true)
		if err := peer.Prepared(t.Context(), id, 1, 0); err != nil {
			t.Fatal(err)
		}
		pass(20 * time.Second)
		if state := r.control.Migration(id).State; state != placement.PhaseQuiescing || r.write() == "" {
			t.Fatalf("without a disk: %s, %q", state, r.write())
		}
		r.brittle.Store(false)
		r.within(10*time.Second, "it is reported", func() bool { return r.control.Migration(id).State == placement.PhaseCopying })
		if c := r.disk.Look("t0").Copy; !c.Fenced || c.FenceVersion != r.control.Place("t0").Version-1 {
			t.Fatalf("reported, and on the disk is %+v", c)
		}
	})
}

// peer is another node that is alive, as a test carries it.
func (r *rig) peer(node string) *authoritytest.Client {
	r.t.Helper()
	c := &authoritytest.Client{Control: r.control, Node: node}
	if _, err := c.Register(r.t.Context(), placement.Registration{BootID: "b", StorageID: "s"}); err != nil {
		r.t.Fatal(err)
	}
	if _, err := c.Beat(r.t.Context(), authority.Beat{Generation: 1, Sequence: 1}); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// A change of the copy that is on the disk although its commit failed is found there, and the node goes on from it.
func TestCommitsInDoubt(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.mute.Store(true) // making the copy
		r.up()
		peer := r.peer("n1")
		id, err := r.control.Migrate("t0", "n1")
		if err != nil {
			t.Fatal(err)
		}
		r.mute.Store(true) // fencing it
		if err := peer.Prepared(t.Context(), id, 1, 0); err != nil {
			t.Fatal(err)
		}
		r.within(10*time.Second, "it is fenced and reported", func() bool { return r.control.Migration(id).State == placement.PhaseCopying })
		r.mute.Store(true) // lifting the fence
		if err := r.control.Abort(id); err != nil {
			t.Fatal(err)
		}
		r.within(10*time.Second, "it may be written again", func() bool { return r.write() == "" })
		if r.mute.Load() {
			t.Fatal("nothing was in doubt")
		}
	})
}

// A target installs nothing but what the manifest proves to be empty; anything else fails the migration (P4).
func TestTargetRefusesData(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.AddTenant("t1", "n1")
		peer := &authoritytest.Client{Control: r.control, Node: "n1"}
		if _, err := peer.Register(t.Context(), placement.Registration{BootID: "b", StorageID: "s"}); err != nil {
			t.Fatal(err)
		}
		r.up()
		id, err := r.control.Migrate("t1", "n0")
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.Prepared(t.Context(), id, 1, 0); err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "the target prepared", func() bool { return r.control.Migration(id).State == placement.PhaseQuiescing })
		data, err := placement.Content{Tenant: "t1", Generation: 1, Chunks: []placement.Chunk{{Kind: "base", Length: 1}}}.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.Quiesced(t.Context(), id, 1, data); err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "the migration failed", func() bool { return r.control.Migration(id).State == placement.PhaseFailed })
		if r.disk.Look("t1").Copy.Present {
			t.Fatal("it installed what it could not verify")
		}
	})
}
