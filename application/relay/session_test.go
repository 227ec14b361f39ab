package relay_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/engine"
	"berth/ports/engine/enginetest"
)

// What is published is acknowledged by its sequence, delivered to whoever follows the route, in order and once, and to whoever
// comes later by replay.
func TestPublishesAndDelivers(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		desktop, phone := r.connected(authorization.Owner), r.connected(authorization.Member)
		if got, err := phone.session.Subscribe(r.t.Context(), phone.Handles["main"], 0); err != nil || got != (relay.Subscribed{Route: "main"}) {
			t.Fatalf("subscribed: %+v %v", got, err)
		}
		for i := range int64(5) {
			if seq, err := desktop.publishes("main", fmt.Sprintf("id%d", i), fmt.Sprintf("[%d]", i)); err != nil || seq != i+1 {
				t.Fatalf("message %d is acknowledged at %d: %v", i, seq, err)
			}
		}
		if !phone.wakes() {
			t.Fatal("the phone is not woken")
		}
		late := r.connected(authorization.Member)
		if got, err := late.session.Subscribe(r.t.Context(), late.Handles["main"], 2); err != nil || got.Head != 5 {
			t.Fatalf("subscribed: %+v %v", got, err)
		}
		if !late.wakes() {
			t.Fatal("who has something to take from before is not woken")
		}
		r.took(phone, 0, 5)
		r.took(late, 2, 5)
		if phone.wakes() {
			t.Fatal("woken for nothing")
		}
		if seq, err := desktop.publishes("main", "id1", "[1]"); err != nil || seq != 2 {
			t.Fatalf("the same message again is acknowledged at %d: %v", seq, err)
		}
		if _, err := desktop.publishes("main", "id1", "[2]"); fault.SlugOf(err) != "publish_id_reused" {
			t.Fatalf("another message under the same id: %v", err)
		}
		r.took(phone, 5, 5)
	})
}

// took takes all that there is, which is what came after one sequence, up to and with another.
func (r *rig) took(p *phone, after, upTo int64) {
	r.t.Helper()
	all := p.takes(r.t)
	if int64(len(all)) != upTo-after {
		r.t.Fatalf("%d messages, where those from %d to %d are due", len(all), after+1, upTo)
	}
	for i, m := range all {
		if m.Seq != after+int64(i)+1 || m.Route != "main" || m.From == "" || m.ID == "" || m.At.IsZero() || len(m.Body) == 0 {
			r.t.Fatalf("message %d is %+v", i, m)
		}
	}
}

// A message that is durable is neither acknowledged nor delivered where what permitted it does not hold any more by then: the
// connection is cut instead, and the message counts once it was published again (P8).
func TestSecondCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*rig, *phone)
		reason    relay.Reason
	}{
		"the lease ran out":       {func(r *rig, _ *phone) { r.cut(); pass(16 * time.Second) }, relay.Unavailable},
		"the device is revoked":   {func(r *rig, p *phone) { _, _ = r.control.RevokePrincipal("t0", p.Principal) }, relay.Revoked},
		"the tenant is suspended": {func(r *rig, _ *phone) { r.control.Suspend("t0") }, relay.Suspended},
		"the node stops":          {func(r *rig, _ *phone) { r.stop() }, relay.Shutdown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				r.up()
				writer, reader := r.connected(authorization.Member), r.connected(authorization.Member)
				if _, err := reader.session.Subscribe(r.t.Context(), reader.Handles["main"], 0); err != nil {
					t.Fatal(err)
				}
				result := make(chan error, 1)
				letGo := r.hold()
				writer.session.Publish(relay.Publish{Handle: writer.Handles["main"], ID: "one", Body: []byte("1")}, func(_ int64, err error) { result <- err })
				synctest.Wait()
				c.meanwhile(r, writer)
				pass(time.Second)
				letGo()
				if err := <-result; err == nil {
					t.Fatal("it is acknowledged")
				}
				if all, _, err := reader.session.Take(r.t.Context(), 1<<16); len(all) > 0 {
					t.Fatalf("it is delivered: %v", err)
				}
				if pass(time.Second); writer.end() != string(c.reason) {
					t.Fatalf("the connection ended by %q", writer.end())
				}
			})
		})
	}
}

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

// What was released is what was checked, also for a route that somebody looks at for the first time while a message of it is
// between its commit and the second check.
func TestNothingIsReleasedBeforeTheSecondCheck(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		writer, reader := r.connected(authorization.Member), r.connected(authorization.Member)
		letGo := r.hold()
		result := make(chan error, 1)
		writer.session.Publish(relay.Publish{Handle: writer.Handles["main"], ID: "one", Body: []byte("1")}, func(_ int64, err error) { result <- err })
		synctest.Wait()
		if got, err := reader.session.Subscribe(r.t.Context(), reader.Handles["main"], 0); err != nil || got.Head != 0 {
			t.Fatalf("the head is %d before the check: %v", got.Head, err)
		}
		r.took(reader, 0, 0)
		letGo()
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		if !reader.wakes() {
			t.Fatal("the reader is not woken")
		}
		r.took(reader, 0, 1)
	})
}

// A revoke ends the sessions of its principal, every one, and no other, as soon as the node hears of it, whichever way (A5).
func TestRevokeEndsThePrincipalsSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost      string
		within    time.Duration
		compacted bool
	}{
		"by hint": {"Poll", 10 * time.Millisecond, false}, "by poll": {"Hints", 5 * time.Second, false},
		"by snapshot": {"Hints", 6 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				const many = 1000
				r.tune = func(s *relay.Settings) { s.ConnectionsPerPrincipal = many }
				r.up()
				revoked, other := r.connected(authorization.Member), r.connected(authorization.Member)
				all := []*phone{revoked}
				for len(all) < many {
					p := phoneOf(revoked.Paired)
					if err := p.enter(r.t.Context(), r.node); err != nil {
						t.Fatal(err)
					}
					all = append(all, p)
				}
				r.spoiled(func(method string, _ bool) error {
					if method == c.lost {
						return lost()
					}
					return nil
				})
				pass(40 * time.Second)
				if _, err := r.control.RevokePrincipal("t0", revoked.Principal); err != nil {
					t.Fatal(err)
				}
				if c.compacted {
					r.control.Compact("t0")
				}
				pass(c.within)
				synctest.Wait()
				for i, p := range all {
					if p.end() != "revoked" {
						t.Fatalf("session %d of %d ended by %q", i, many, p.end())
					}
				}
				if _, err := other.publishes("main", "one", "1"); err != nil || other.end() != "" {
					t.Fatalf("another device: %v, %q", err, other.end())
				}
				if err := revoked.enter(r.t.Context(), r.node); fault.KindOf(err) != fault.Forbidden {
					t.Fatalf("it comes back: %v", err)
				}
			})
		})
	}
}

// An owner's revoke is committed, denies from here at once, whatever is heard meanwhile, and ends what is open, before it is
// answered. What is heard of it later changes nothing (A5).
func TestOwnersRevoke(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		owner, member, other := r.connected(authorization.Owner), r.connected(authorization.Member), r.connected(authorization.Member)
		pass(30 * time.Second)
		r.spoiled(func(method string, _ bool) error { // nothing is heard any more
			switch method {
			case "Poll", "Hints", "Snapshot":
				return lost()
			}
			return nil
		})
		if _, err := member.session.Revoke(r.t.Context(), other.Principal); fault.SlugOf(err) != "revoke_not_allowed" {
			t.Fatalf("a member revokes: %v", err)
		}
		if _, err := owner.session.Revoke(r.t.Context(), "prn_none"); fault.SlugOf(err) != "principal_not_found" {
			t.Fatalf("nobody is revoked: %v", err)
		}
		revision, err := owner.session.Revoke(r.t.Context(), member.Principal)
		if err != nil || revision != r.control.Revision("t0") {
			t.Fatalf("revision %d: %v", revision, err)
		}
		if member.end() != "revoked" || other.end() != "" || owner.end() != "" {
			t.Fatalf("ended: member %q, other %q, owner %q", member.end(), other.end(), owner.end())
		}
		if err := member.enter(r.t.Context(), r.node); fault.SlugOf(err) != "principal_revoked" {
			t.Fatalf("it comes back: %v", err)
		}
		if again, err := owner.session.Revoke(r.t.Context(), member.Principal); err != nil || again != revision {
			t.Fatalf("again: revision %d: %v", again, err)
		}
		r.spoiled(nil)
		pass(30 * time.Second)
		if got := r.node.Tenants()[0].Revision; got != revision {
			t.Fatalf("revision %d is held", got)
		}
		if err := member.enter(r.t.Context(), r.node); fault.SlugOf(err) != "principal_revoked" {
			t.Fatalf("it comes back: %v", err)
		}
		if owner.end() != "" {
			t.Fatalf("the owner ended by %q", owner.end())
		}
	})
}

// A revocation that the disk remembers denies, where the control plane does not know of it any more, as does one that was
// committed just before the tenant was closed and opened again, by an answer from before (D4, A3).
func TestBuriedStayRevoked(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		member := r.connected(authorization.Member)
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		e, err := r.disk.Open(r.t.Context(), "t0")
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Bury(r.t.Context(), engine.Tombstone{Principal: member.Principal, Revision: r.control.Revision("t0") + 1}); err != nil {
			t.Fatal(err)
		}
		r.up()
		if err := member.enter(r.t.Context(), r.node); fault.SlugOf(err) != "principal_revoked" {
			t.Fatalf("it comes back: %v", err)
		}
	})
}

// Suspending and closing a tenant ends its sessions for that reason, and lets none in; resuming lets them in again.
func TestSuspendAndClose(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Owner)
		r.control.Suspend("t0")
		r.within(200*time.Millisecond, "the session ends", func() bool { return p.end() == "suspended" })
		if err := p.enter(r.t.Context(), r.node); fault.SlugOf(err) != "tenant_suspended" {
			t.Fatalf("into a suspended tenant: %v", err)
		}
		r.control.Resume("t0")
		p = phoneOf(p.Paired)
		r.within(5*time.Second, "it is let in", func() bool { return p.enter(r.t.Context(), r.node) == nil })
		r.control.CloseTenant("t0")
		r.within(200*time.Millisecond, "the session ends", func() bool { return p.end() == "suspended" })
		if err := p.enter(r.t.Context(), r.node); fault.SlugOf(err) != "tenant_closed" {
			t.Fatalf("into a closed tenant: %v", err)
		}
	})
}

// A session outlives the end of a lease, reads on, and writes again once there is another lease. It ends at the bound of what
// the node was told, and is let in again by itself once the control plane is back (A6, P8).
func TestSessionAcrossALapse(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Owner)
		if _, err := p.session.Subscribe(r.t.Context(), p.Handles["main"], 0); err != nil {
			t.Fatal(err)
		}
		if _, err := p.publishes("main", "a", "1"); err != nil {
			t.Fatal(err)
		}
		r.cut()
		pass(20 * time.Second)
		if _, err := p.publishes("main", "b", "2"); fault.SlugOf(err) != "lease_run_out" || p.end() != "" {
			t.Fatalf("without a lease: %v, ended %q", err, p.end())
		}
		r.took(p, 0, 1)
		r.spoiled(nil)
		r.within(20*time.Second, "it writes again", func() bool { _, err := p.publishes("main", "b", "2"); return err == nil })
		r.took(p, 1, 2)
		pass(10 * time.Second)
		r.cut()
		cut := time.Now()
		r.within(66*time.Second, "it ends", func() bool { return p.end() == "unavailable" })
		if after := time.Since(cut); after < 55*time.Second {
			t.Fatalf("it ended after %v", after)
		}
		r.spoiled(nil)
		r.within(20*time.Second, "it is let in again", func() bool { return p.enter(r.t.Context(), r.node) == nil })
	})
}

// A session ends when its token does, unless it was renewed by another token of the same device.
func TestTokensExpireInMidConnection(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		key := r.control.RotateKey()
		r.up()
		paired := r.pair(authorization.Member)
		one, two := phoneOf(paired.Paired), phoneOf(paired.Paired)
		one.device.ExpiresAt = r.clock.Now().Add(time.Minute)
		two.device.ExpiresAt = one.device.ExpiresAt
		r.within(time.Second, "they are let in", func() bool { return one.enter(r.t.Context(), r.node) == nil })
		if err := two.enter(r.t.Context(), r.node); err != nil {
			t.Fatal(err)
		}
		pass(50 * time.Second)
		if _, err := two.session.Renew(key.KID + "/t0/somebody"); fault.SlugOf(err) != "token_of_another_device" {
			t.Fatalf("renewed by another's token: %v", err)
		}
		if _, err := two.session.Renew(key.KID + "/t1/" + two.Principal); fault.SlugOf(err) != "token_of_another_device" {
			t.Fatalf("renewed by another tenant's token: %v", err)
		}
		if _, err := two.session.Renew("none/t0/" + two.Principal); fault.KindOf(err) != fault.Unauthenticated {
			t.Fatalf("renewed by no token: %v", err)
		}
		if until, err := two.session.Renew(key.KID + "/t0/" + two.Principal); err != nil || until.Sub(r.clock.Now()).Round(time.Second) != time.Minute {
			t.Fatalf("renewed until %v: %v", until, err)
		}
		if one.end() != "" {
			t.Fatal("ended early")
		}
		pass(11*time.Second + time.Millisecond)
		if one.end() != "expired" || two.end() != "" || one.retry() != 0 {
			t.Fatalf("ended: %q and %q", one.end(), two.end())
		}
		if err := one.enter(r.t.Context(), r.node); fault.SlugOf(err) != "device_token_expired" {
			t.Fatalf("by an expired token: %v", err)
		}
		pass(time.Minute)
		if two.end() != "expired" {
			t.Fatalf("ended: %q", two.end())
		}
	})
}

// A handle is of one principal, and of none once that is revoked; foreign ones, unknown ones and malformed ones store nothing
// and leave the connection open (A8).
func TestForeignHandles(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.AddTenant("t1", "n0")
		r.up()
		p, other := r.connected(authorization.Member), r.connected(authorization.Member)
		foreign := r.control.Pair("t1", authorization.Owner)
		unknown, err := authorization.FormatHandle(make([]byte, 16))
		if err != nil {
			t.Fatal(err)
		}
		for handle, slug := range map[string]string{
			other.Handles["main"]: "handle_refused", foreign.Handles["main"]: "handle_refused", unknown: "handle_refused", "h_": "invalid_handle", "": "invalid_handle",
		} {
			p.Handles["tried"] = handle
			if _, err := p.publishes("tried", "one", "1"); fault.SlugOf(err) != slug {
				t.Errorf("%q publishes: %v", handle, err)
			}
			if _, err := p.session.Subscribe(r.t.Context(), handle, 0); fault.SlugOf(err) != slug {
				t.Errorf("%q subscribes: %v", handle, err)
			}
			if _, err := p.session.Unsubscribe(handle); err == nil {
				t.Errorf("%q unsubscribes", handle)
			}
		}
		if r.disk.Look("t0").Sequence != 0 || p.end() != "" {
			t.Fatalf("something is stored, or the session ended: %q", p.end())
		}
	})
}

// Subscriptions begin nowhere beyond the end, begin anew where they are asked for again, and end.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		for i := range 70 {
			r.control.AddRoute("t0", fmt.Sprintf("r%d", i))
		}
		r.up()
		p := r.connected(authorization.Owner)
		if _, err := p.publishes("main", "a", "1"); err != nil {
			t.Fatal(err)
		}
		for after, slug := range map[int64]string{-1: "out_of_range", 2: "after_beyond_end"} {
			if _, err := p.session.Subscribe(r.t.Context(), p.Handles["main"], after); fault.SlugOf(err) != slug {
				t.Errorf("after %d: %v", after, err)
			}
		}
		for range 2 {
			if _, err := p.session.Subscribe(r.t.Context(), p.Handles["main"], 0); err != nil {
				t.Fatal(err)
			}
			r.took(p, 0, 1)
		}
		if route, err := p.session.Unsubscribe(p.Handles["main"]); err != nil || route != "main" {
			t.Fatalf("%q: %v", route, err)
		}
		if _, err := p.session.Unsubscribe(p.Handles["main"]); fault.SlugOf(err) != "not_subscribed" {
			t.Fatal(err)
		}
		p.wakes()
		if _, err := p.publishes("main", "b", "2"); err != nil || p.wakes() || len(p.takes(t)) > 0 {
			t.Fatalf("who unsubscribed is told: %v", err)
		}
		var refused int
		for i := range 70 {
			if _, err := p.session.Subscribe(r.t.Context(), p.Handles[fmt.Sprintf("r%d", i)], 0); fault.SlugOf(err) == "too_many_subscriptions" {
				refused++
			}
		}
		if refused != 6 {
			t.Fatalf("%d of 70 are refused", refused)
		}
	})
}

// A device publishes as often as it may and no more, all of its connections together, and so does a tenant; who waits is let
// through. Messages that are not committed are bounded.
func TestRates(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.tune = func(s *relay.Settings) { s.PublishRate, s.TenantPublishRate = 10, 15 }
		r.up()
		one := r.connected(authorization.Member)
		again, other := phoneOf(one.Paired), r.connected(authorization.Member)
		if err := again.enter(r.t.Context(), r.node); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		n := 0
		taken := func(p *phone, times int) (through int) {
			for range times {
				n++
				_, err := p.publishes("main", fmt.Sprintf("m%d", n), "1")
				switch f, _ := fault.As(err); {
				case err == nil:
					through++
				case f.Slug != "rate_limited" || f.RetryAfter <= 0:
					t.Fatal(err)
				}
			}
			return through
		}
		if got := taken(one, 6) + taken(again, 6); got != 10 {
			t.Fatalf("%d of one device at once", got)
		}
		if got := taken(other, 10); got != 5 {
			t.Fatalf("%d more of the tenant at once", got)
		}
		one.session.Leave() // who comes back is no other
		again.session.Leave()
		one = phoneOf(one.Paired)
		if err := one.enter(r.t.Context(), r.node); err != nil {
			t.Fatal(err)
		}
		pass(200 * time.Millisecond)
		if got := taken(one, 10); got != 2 {
			t.Fatalf("%d after 200 ms", got)
		}
	})
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Member)
		hold := make(chan struct{})
		r.disk.Hinder("t0", enginetest.Hindrance{Hold: hold})
		var done, refused atomic.Int64
		for i := range 300 {
			p.session.Publish(relay.Publish{Handle: p.Handles["main"], ID: fmt.Sprintf("m%d", i), Body: []byte("1")}, func(_ int64, err error) {
				if done.Add(1); fault.SlugOf(err) == "publishes_in_flight" {
					refused.Add(1)
				}
			})
		}
		if refused.Load() != 300-256 {
			t.Errorf("%d of 300 are refused", refused.Load())
		}
		r.disk.Hinder("t0", enginetest.Hindrance{})
		close(hold)
		synctest.Wait()
		if done.Load() != 300 {
			t.Fatalf("%d of 300 are answered", done.Load())
		}
	})
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
			r.within(time.Second, "it writes on", func() bool { _, err := p.publishes("main", "b", "2"); return err == nil })
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

// A device whose upload breaks off, as it does where the connection does, troubles nobody else.
func TestBrokenUpload(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Owner)
		files, err := r.node.Files(r.t.Context(), p.device)
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		if _, err := files.Upload(r.t.Context(), relay.Upload{Length: 10, Size: 10}, iotest.ErrReader(errBroken)); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		pass(time.Second)
		if _, err := p.publishes("main", "a", "1"); err != nil || p.end() != "" {
			t.Fatalf("another device: %v, ended %q", err, p.end())
		}
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
