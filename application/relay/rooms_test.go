package relay_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/authority"
)

// A node is told nothing of tenants that nobody uses: with 5,000 assigned to it and 50 in use it asks about those 50, and about
// none again once nobody used it for a while. The gate denies what is not open (A4).
func TestOnlyOpenTenantsAreAskedAbout(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		const many, open = 5000, 50
		r.empty = true
		for i := range many - 1 {
			r.control.AddTenant(fmt.Sprintf("m%d", i), "n0")
		}
		r.start()
		r.within(5*time.Second, "the tenants are known", func() bool { return len(r.node.Tenants()) == many })
		pass(20 * time.Second)
		if _, err := r.node.Gate().Write("m0"); fault.SlugOf(err) != "engine_closed" || r.called("Snapshot") > 0 {
			t.Fatalf("nobody uses it: %v, %d snapshots", err, r.called("Snapshot"))
		}
		if err := r.node.Gate().Read("m0"); fault.SlugOf(err) != "engine_closed" {
			t.Fatalf("nobody uses it: %v", err)
		}
		phones := make([]*phone, open)
		for i := range phones {
			phones[i] = phoneOf(r.control.Pair(fmt.Sprintf("m%d", i), authorization.Owner))
			if err := phones[i].enter(r.t.Context(), r.node); err != nil {
				t.Fatal(err)
			}
		}
		pass(2 * time.Second)
		r.asked.Store(0)
		pass(2 * time.Minute)
		if most := r.asked.Load(); most != open {
			t.Fatalf("%d tenants are asked about at a time", most)
		}
		if n := r.called("Snapshot"); n > 5*open {
			t.Fatalf("%d snapshots in two minutes", n)
		}
		for _, p := range phones {
			p.session.Leave()
		}
		pass(4 * time.Minute)
		if s := r.node.Status(); s.Engines != open || s.Rooms != open {
			t.Fatalf("after four minutes %d Engines and %d rooms are open", s.Engines, s.Rooms)
		}
		pass(62 * time.Second)
		if s := r.node.Status(); s.Engines != 0 || s.Rooms != 0 || s.Guarded != 0 {
			t.Fatalf("after five minutes %d Engines and %d rooms are open", s.Engines, s.Rooms)
		}
		snapshots := r.called("Snapshot")
		r.asked.Store(0)
		pass(2 * time.Minute)
		if r.asked.Load() != 0 || r.called("Snapshot") != snapshots {
			t.Fatal("it asks about tenants that nobody uses")
		}
		if err := phones[0].enter(r.t.Context(), r.node); err != nil || r.called("Snapshot") != snapshots+1 {
			t.Fatalf("it opens again: %v, by %d snapshots", err, r.called("Snapshot")-snapshots)
		}
	})
}

// As many Engines are open as may be. The one that nobody uses, and nobody used for longest, gives way; where all are in use who
// comes is told when to come back.
func TestOpenEnginesAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.MaxEngines = 3 }
		var phones []*phone
		for i := range 5 {
			r.control.AddTenant(fmt.Sprintf("m%d", i), "n0")
			phones = append(phones, phoneOf(r.control.Pair(fmt.Sprintf("m%d", i), authorization.Owner)))
		}
		r.start()
		enter := func(i int) error {
			phones[i] = phoneOf(phones[i].Paired)
			return phones[i].enter(r.t.Context(), r.node)
		}
		r.within(5*time.Second, "it is let in", func() bool { return enter(0) == nil })
		if err := errors.Join(enter(1), enter(2)); err != nil {
			t.Fatal(err)
		}
		if f, ok := fault.As(enter(3)); !ok || f.Slug != "engines_exhausted" || f.RetryAfter < time.Second {
			t.Fatalf("all are in use: %v", f)
		}
		for _, i := range []int{1, 0, 2} {
			phones[i].session.Leave()
			pass(time.Second)
		}
		if err := errors.Join(enter(3), enter(0)); err != nil { // 0 is open still, as 1 was left first
			t.Fatal(err)
		}
		opened := map[string]bool{}
		for _, s := range r.node.Tenants() {
			opened[s.Tenant] = s.Engine
		}
		if !opened["m0"] || opened["m1"] || !opened["m2"] || !opened["m3"] || r.node.Status().Engines != 3 {
			t.Fatalf("open are %v", opened)
		}
		if err := enter(4); err != nil { // instead of m2
			t.Fatal(err)
		}
		if err := enter(1); fault.SlugOf(err) != "engines_exhausted" {
			t.Fatalf("all are in use: %v", err)
		}
	})
}

// A device has so many connections and no more, as has the node; one that leaves makes room.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.ConnectionsPerPrincipal, s.MaxConnections = 2, 3 }
		r.start()
		one := r.connected(authorization.Member)
		two, three := phoneOf(one.Paired), phoneOf(one.Paired)
		if err := two.enter(r.t.Context(), r.node); err != nil {
			t.Fatal(err)
		}
		if err := three.enter(r.t.Context(), r.node); fault.SlugOf(err) != "too_many_connections" {
			t.Fatalf("the third of a device: %v", err)
		}
		other := r.connected(authorization.Member)
		if err := r.pair(authorization.Member).enter(r.t.Context(), r.node); fault.SlugOf(err) != "too_many_connections" {
			t.Fatalf("the fourth of the node: %v", err)
		}
		two.session.Leave()
		two.session.Leave()
		if err := three.enter(r.t.Context(), r.node); err != nil {
			t.Fatalf("in the place of one that left: %v", err)
		}
		if n := r.node.Status().Sessions; n != 3 || other.end() != "" {
			t.Fatalf("%d sessions", n)
		}
	})
}

// An answer from before a tenant was closed tells nothing once it is open again (A3).
func TestOldAnswersAfterReopening(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.EngineIdle = time.Second }
		r.start()
		p := r.connected(authorization.Owner)
		member := r.connected(authorization.Member)
		before, err := r.peerOf("n0").Snapshot(r.t.Context(), "t0", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.control.RevokePrincipal("t0", member.Principal); err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "it is heard of", func() bool { return member.end() == "revoked" })
		p.session.Leave()
		r.within(5*time.Second, "the tenant is closed", func() bool { return r.node.Status().Rooms == 0 })
		r.answer.Store(&before)
		for _, p := range []*phone{member, p} {
			if err := p.enter(r.t.Context(), r.node); err == nil {
				t.Fatal("a device is let in by an old answer")
			}
		}
		r.answer.Store((*authority.Snapshot)(nil))
		r.within(10*time.Second, "the owner is let in", func() bool { return p.enter(r.t.Context(), r.node) == nil })
	})
}

// A snapshot that comes when nobody uses the tenant any more is not taken: nothing is asked about it from then on.
func TestLateSnapshotOfAClosedTenant(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.EngineIdle = time.Second }
		r.spoiled(func(method string, back bool) error {
			if method != "Snapshot" || !back {
				return nil
			}
			pass(2900 * time.Millisecond)
			if r.called("Snapshot") == 1 { // so that the second comes once nobody waits for it any more
				return lost()
			}
			return nil
		})
		r.start()
		r.within(5*time.Second, "the tenant is known", func() bool { return len(r.node.Tenants()) == 1 })
		impatient, end := context.WithTimeout(r.t.Context(), 10*time.Millisecond)
		defer end()
		if err := phoneOf(r.visitor).enter(impatient, r.node); fault.SlugOf(err) != "request_ended" {
			t.Fatalf("who does not wait: %v", err)
		}
		r.within(20*time.Second, "the tenant is closed", func() bool { return r.node.Status().Rooms == 0 })
		pass(3 * time.Second)
		r.asked.Store(0)
		pass(20 * time.Second)
		if r.asked.Load() != 0 || r.node.Tenants()[0].SnapshotAge >= 0 {
			t.Fatal("the snapshot was taken")
		}
	})
}
