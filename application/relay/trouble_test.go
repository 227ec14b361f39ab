package relay_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/engine"
	"berth/ports/engine/enginetest"
)

// quiesce has t0 begin to move to n1, as far as the source's fence.
func (r *rig) quiesce() string {
	r.t.Helper()
	peer := r.peer("n1")
	id, err := r.control.Migrate("t0", "n1")
	if err != nil {
		r.t.Fatal(err)
	}
	if err := peer.Prepared(r.t.Context(), id, 1, 0); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// A tenant that moves away sends its devices away once, with a time to come back; they are let in where it comes back to.
func TestMovesAwayAndBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Owner)
		id := r.quiesce()
		r.within(time.Second, "the source fenced", func() bool { return r.control.Migration(id).State == placement.PhaseCopying })
		if _, err := p.publishes("main", "a", "1"); err == nil || p.end() != "" {
			t.Fatalf("behind the fence: %v, ended %q", err, p.end())
		}
		if err := r.peerOf("n1").Copied(r.t.Context(), id, 1, r.manifest(id)); err != nil {
			t.Fatal(err)
		}
		r.control.Sweep()
		r.within(time.Second, "it is sent away", func() bool { return p.end() == "moved" })
		r.within(time.Second, "the source drained", func() bool { return r.control.Migration(id).State == placement.PhaseDone })
		if s := r.node.Status(); s.Engines != 0 || s.Sessions != 0 {
			t.Fatalf("%d Engines and %d sessions are left", s.Engines, s.Sessions)
		}
		if err := p.enter(r.t.Context(), r.node); fault.SlugOf(err) != "not_holder" {
			t.Fatalf("it comes back too early: %v", err)
		}
		back, err := r.control.Migrate("t0", "n0")
		if err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "the target prepared", func() bool { return r.control.Migration(back).TargetPrepared })
		if err := r.peerOf("n1").Prepared(r.t.Context(), back, 2, 0); err != nil {
			t.Fatal(err)
		}
		empty, err := placement.Content{Tenant: "t0", Generation: 2}.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.peerOf("n1").Quiesced(r.t.Context(), back, 2, empty); err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "it is copied", func() bool { return r.control.Migration(back).State == placement.PhaseSwitching })
		r.control.Sweep()
		p = phoneOf(p.Paired)
		r.within(time.Second, "it is let in", func() bool { return p.enter(r.t.Context(), r.node) == nil })
		if seq, err := p.publishes("main", "a", "1"); err != nil || seq != 1 {
			t.Fatalf("%d: %v", seq, err)
		}
	})
}

// A node that can not copy data fails the migration of a tenant that has some, before it would report that, and goes on.
func TestDataDoesNotMove(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		bubble(t, func(r *rig) {
			r.up()
			p, peer := r.connected(authorization.Owner), r.peer("n1")
			publish := func() {
				if _, err := p.publishes("main", "a", "1"); err != nil {
					t.Fatal(err)
				}
			}
			if !late {
				publish()
			}
			id, err := r.control.Migrate("t0", "n1")
			if err != nil {
				t.Fatal(err)
			}
			if late { // after it was found to be empty
				r.within(time.Second, "the source prepared", func() bool { return r.control.Migration(id).SourcePrepared })
				publish()
				if err := peer.Prepared(r.t.Context(), id, 1, 0); err != nil {
					t.Fatal(err)
				}
			}
			r.within(time.Second, "the migration failed", func() bool { return r.control.Migration(id).State == placement.PhaseFailed })
			r.within(6*time.Second, "it writes on", func() bool { _, err := p.publishes("main", "b", "2"); return err == nil })
			if p.end() != "" {
				t.Fatalf("the session ended by %q", p.end())
			}
		})
	}
}

// What goes wrong with one tenant's Engine is that tenant's alone: a damaged one is said to be, and comes back by itself once it
// can be read; a full disk refuses messages and ends nothing.
func TestTroubleStaysWithItsTenant(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.AddTenant("t1", "n0")
		r.up()
		p := r.connected(authorization.Owner)
		q := phoneOf(r.control.Pair("t1", authorization.Owner))
		r.within(time.Second, "the other is let in", func() bool { return q.enter(r.t.Context(), r.node) == nil })
		r.disk.Hinder("t0", enginetest.Hindrance{Before: engine.Full(errBroken)})
		if _, err := p.publishes("main", "a", "1"); fault.SlugOf(err) != "disk_full" || p.end() != "" {
			t.Fatalf("on a full disk: %v, ended %q", err, p.end())
		}
		r.disk.Hinder("t0", enginetest.Hindrance{})
		if _, err := p.publishes("main", "a", "1"); err != nil {
			t.Fatal(err)
		}
		r.disk.Damage("t0", true)
		if _, err := p.publishes("main", "b", "1"); fault.SlugOf(err) != "engine_damaged" {
			t.Fatal(err)
		}
		r.within(time.Second, "its sessions end", func() bool { return p.end() == "unavailable" })
		if _, err := q.publishes("main", "a", "1"); err != nil || q.end() != "" {
			t.Fatalf("another tenant: %v, ended %q", err, q.end())
		}
		if err := p.enter(r.t.Context(), r.node); fault.SlugOf(err) != "engine_damaged" {
			t.Fatalf("into a damaged Engine: %v", err)
		}
		if why := r.node.Tenants()[0].Failed; fault.SlugOf(why) != "engine_damaged" {
			t.Fatalf("it is said to have failed by %v", why)
		}
		r.disk.Damage("t0", false)
		r.within(time.Minute, "it is let in again", func() bool { return p.enter(r.t.Context(), r.node) == nil })
	})
}

// Sessions that begin while others are ended, and while their room closes, are ended too or let in for good: none is left
// behind, and none is ended twice.
func TestEnteringWhileTheRoomCloses(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.EngineIdle, s.ConnectionsPerPrincipal = time.Second, 1000 }
		r.start()
		paired := r.visitor
		var all sync.WaitGroup
		var in atomic.Int64
		for i := range 200 {
			all.Go(func() {
				for n := range 20 {
					pass(time.Duration((i*37+n*311)%1700) * time.Millisecond)
					p := phoneOf(paired)
					if p.enter(r.t.Context(), r.node) != nil {
						continue
					}
					in.Add(1)
					if (i+n)%3 == 0 {
						pass(time.Duration(i%7) * time.Millisecond)
					}
					p.session.Leave()
					if p.end() != "" && p.end() != "suspended" {
						t.Errorf("ended by %q", p.end())
					}
				}
			})
		}
		for range 10 {
			pass(1900 * time.Millisecond)
			r.control.Suspend("t0")
			pass(300 * time.Millisecond)
			r.control.Resume("t0")
		}
		all.Wait()
		pass(5 * time.Second)
		if s := r.node.Status(); s.Sessions != 0 || s.Engines != 0 || s.Rooms != 0 || in.Load() < 500 {
			t.Fatalf("of %d sessions %d are left, %d Engines, %d rooms", in.Load(), s.Sessions, s.Engines, s.Rooms)
		}
	})
}
