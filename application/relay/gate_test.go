package relay_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"berth/domain/fault"
	"berth/ports/authority/authoritytest"
)

// From the end of the lease on, counted from before the beat was sent, not one write is permitted; until then writes go on
// without the control plane (P8, P9).
func TestDeniesAtTheEndOfItsLease(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		before := r.called("Beat")
		r.within(10*time.Second, "another beat was sent", func() bool { return r.called("Beat") > before })
		synctest.Wait()
		left := r.node.Status().LeaseLeft
		end := time.Now().Add(left)
		r.cut()
		for time.Now().Before(end.Add(-10 * time.Millisecond)) {
			if slug := r.write(); slug != "" {
				t.Fatalf("denied %v before the end: %s", time.Until(end), slug)
			}
			pass(7 * time.Millisecond)
		}
		pass(time.Until(end) - 1)
		if slug := r.write(); slug != "" {
			t.Fatalf("denied a nanosecond before the end: %s", slug)
		}
		for pass(time.Nanosecond); time.Since(end) < 5*time.Second; pass(3 * time.Millisecond) {
			if slug := r.write(); slug != "lease_run_out" {
				t.Fatalf("%v after the end: %q", time.Since(end), slug)
			}
		}
		r.spoiled(nil)
		r.within(10*time.Second, "it recovers by itself", func() bool { return r.write() == "" })
	})
}

// A beat whose answer comes late gives what is left of its lease since it was sent, and a process that stood still for longer
// than its lease is denied at its first question.
func TestLateAnswersAndStandstills(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		r.spoiled(func(method string, back bool) error {
			if method == "Beat" && back {
				pass(4 * time.Second)
			}
			return nil
		})
		beats := r.node.Counts().Beats
		r.within(20*time.Second, "a late answer arrived", func() bool { return r.node.Counts().Beats > beats })
		if left := r.node.Status().LeaseLeft; left > 11*time.Second {
			t.Fatalf("%v are left of a lease of 15 s that was asked for 4 s ago", left)
		}
		r.spoiled(nil)
		r.clock.stand(16*time.Second, false)
		pass(16*time.Second - 1)
		if slug := r.write(); slug != "lease_run_out" {
			t.Fatalf("after a standstill: %q", slug)
		}
		r.within(10*time.Second, "it recovers by itself", func() bool { return r.write() == "" })
	})
}

// What is open outlives the lease, and is closed within 100 ms of the bound of the snapshot, also where the timers slept
// along with the machine (A6); what is released is not; what is denied already is closed at once.
func TestFenceCloses(t *testing.T) {
	t.Parallel()
	for _, stand := range []bool{false, true} {
		for phase := range 8 {
			name := fmt.Sprintf("asleep %t, phase %d", stand, phase)
			t.Run(name, func(t *testing.T) { fenceCloses(t, stand, time.Duration(phase)*137*time.Millisecond) })
		}
	}
}

// fenceCloses has the fence look at a moment of its own after the lease, so that the end is not one of its looks by accident:
// lease and snapshot were asked for at the same moment, and end a whole number of seconds apart.
func fenceCloses(t *testing.T, stand bool, phase time.Duration) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		var closed atomic.Pointer[time.Time]
		var why atomic.Value
		r.node.Gate().Guard("t0", func(err error) {
			closed.Store(new(time.Now()))
			why.Store(fault.SlugOf(err))
		})
		release := r.node.Gate().Guard("t0", func(error) { t.Error("closed what was released") })
		release()
		synctest.Wait()
		r.cut()
		due := time.Now().Add(65*time.Second - r.node.Tenants()[0].SnapshotAge)
		if stand {
			r.clock.stand(80*time.Second, false)
			due = time.Now().Add(80 * time.Second)
		} else {
			pass(20*time.Second + phase)
			r.node.Gate().Guard("t0", func(error) {})()
		}
		pass(time.Until(due) - time.Millisecond)
		if closed.Load() != nil {
			t.Fatalf("closed early: %v", why.Load())
		}
		if !stand && r.write() != "lease_run_out" {
			t.Fatalf("a write is answered by %q", r.write())
		}
		pass(101 * time.Millisecond)
		if at := closed.Load(); at == nil || why.Load() != "snapshot_too_old" {
			t.Fatalf("not closed within 100 ms of the end, or for another reason: %v", why.Load())
		}
		atOnce := make(chan error, 1)
		r.node.Gate().Guard("t0", func(err error) { atOnce <- err })
		synctest.Wait()
		if len(atOnce) != 1 {
			t.Fatal("what is denied already stays open")
		}
	})
}

// With a lease but without news of its tenants a node denies at the bound of its snapshots, counted from their asking (A6).
func TestDeniesAtTheBoundOfItsSnapshots(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		r.spoiled(func(method string, _ bool) error {
			switch method {
			case "Snapshot", "Poll", "Hints":
				return authoritytest.Lost()
			}
			return nil
		})
		began := time.Now()
		r.within(66*time.Second, "it denies", func() bool { return r.write() != "" })
		if age := time.Since(began); r.write() != "snapshot_too_old" || age > 65*time.Second+5*time.Millisecond {
			t.Fatalf("after %v: %s", age, r.write())
		}
		if !r.node.Status().Ready() {
			t.Error("the lease is said to be over")
		}
		r.spoiled(nil)
		r.within(10*time.Second, "it recovers by itself", func() bool { return r.write() == "" })
	})
}

// A wall clock that is set, and a machine that was restored from its memory, end the lease before anything else is
// answered; everything is asked for anew, and it goes on by itself (P9).
func TestClockJumps(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]func(*rig){
		"set ahead": func(r *rig) { r.clock.jump(time.Hour) }, "set back": func(r *rig) { r.clock.jump(-2 * time.Second) },
		"restored": func(r *rig) {
			r.clock.stand(3*time.Second, true)
			pass(3*time.Second + 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				r.up()
				r.spoiled(only("Beat", false))
				snapshots := r.node.Counts().Snapshots
				jump(r)
				if slug := r.write(); slug != "clock_jumped" && slug != "lease_run_out" {
					t.Fatalf("the first answer after the jump is %q", slug)
				}
				pass(2 * time.Second)
				if slug := r.write(); slug != "lease_run_out" || r.node.Counts().Jumps != 1 {
					t.Fatalf("without a new beat: %q, %d jumps", slug, r.node.Counts().Jumps)
				}
				r.spoiled(nil)
				r.within(10*time.Second, "it goes on", func() bool { return r.write() == "" })
				if r.node.Counts().Snapshots == snapshots {
					t.Error("no snapshot was taken anew")
				}
			})
		})
	}
}

// A clock that is set by less than the bound is no jump.
func TestSmallCorrectionsAreNoJumps(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		for range 20 {
			r.clock.jump(900 * time.Millisecond)
			if slug := r.write(); slug != "" {
				t.Fatalf("denied: %s", slug)
			}
			pass(6 * time.Second)
		}
	})
}

// From the moment that it is to stop a node denies, and Run returns with nothing left behind.
func TestStops(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		gate := r.node.Gate()
		closed := make(chan error, 1)
		gate.Guard("t0", func(err error) { closed <- err })
		r.stop()
		synctest.Wait()
		if _, err := gate.Write("t0"); fault.SlugOf(err) != "stopping" {
			t.Fatalf("after the stop: %v", err)
		}
		if err := <-closed; fault.SlugOf(err) != "stopping" {
			t.Fatalf("what was open is closed for %v", err)
		}
		late := make(chan error, 1)
		gate.Guard("t0", func(err error) { late <- err })
		synctest.Wait()
		if len(late) != 1 || fault.SlugOf(<-late) != "stopping" {
			t.Fatal("what is opened after the stop stays open")
		}
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		gate.Guard("t0", func(err error) { late <- err })
		synctest.Wait()
		if len(late) != 1 {
			t.Fatal("what is opened once everything has ended stays open")
		}
	})
}

// Nothing that does not concern the node is permitted, whatever its name.
func TestStrangersAreDenied(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		for _, id := range []string{"", "t1", "T0", "t0 "} {
			if _, err := r.node.Gate().Write(id); fault.SlugOf(err) != "not_holder" {
				t.Errorf("%q: %v", id, err)
			}
			if err := r.node.Gate().Read(id); fault.SlugOf(err) != "not_holder" {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}
