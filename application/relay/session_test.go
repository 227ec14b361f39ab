package relay_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
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
		if r.took(phone, 5, 5); phone.wakes() {
			t.Fatal("woken for what was delivered before")
		}
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		r.up()
		again := phoneOf(late.Paired)
		if err := again.enter(r.t.Context(), r.node); err != nil {
			t.Fatal(err)
		}
		if got, err := again.session.Subscribe(r.t.Context(), again.Handles["main"], 1); err != nil || got.Head != 5 {
			t.Fatalf("after a restart: subscribed %+v %v", got, err)
		}
		r.took(again, 1, 5)
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
		if _, err := p.publishes("main", "after", "1"); err != nil {
			t.Fatalf("once all are answered: %v", err)
		}
	})
}

// Nothing is taken from the instant on from which the node may not read, also before anybody has found out: a machine that stood
// still for longer than its bound delivers nothing of before (A6).
func TestNothingIsTakenAfterTheBound(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Owner)
		if _, err := p.publishes("main", "a", "1"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.session.Subscribe(r.t.Context(), p.Handles["main"], 0); err != nil {
			t.Fatal(err)
		}
		r.cut()
		r.clock.stand(80*time.Second, false)
		pass(70 * time.Second)
		if all, _, err := p.session.Take(r.t.Context(), 1<<16); fault.SlugOf(err) != "snapshot_too_old" || len(all) > 0 || p.end() != "" {
			t.Fatalf("%d messages: %v, ended %q", len(all), err, p.end())
		}
		pass(11 * time.Second)
		if p.end() != "unavailable" {
			t.Fatalf("ended by %q", p.end())
		}
	})
}

// meddler is a phone on whose end others publish, as they may at that moment.
type meddler struct {
	*phone
	meddle func()
}

func (m meddler) End(e relay.End) {
	m.meddle()
	m.phone.End(e)
}

// A message that is published while the sessions of a tenant are being ended is answered by that end, and not by a refusal of
// its own, for which a device would give it up.
func TestPublishesWhileItEnds(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		all := []*phone{r.connected(authorization.Owner), r.connected(authorization.Member), r.connected(authorization.Member)}
		var answers []error
		var begun atomic.Bool
		meddle := func() {
			if begun.Swap(true) { // by what it does itself
				return
			}
			for i, p := range all {
				_, err := p.publishes("main", fmt.Sprint("late", i), "1")
				answers = append(answers, err)
			}
		}
		for _, p := range all {
			p.session.Leave()
			s, err := r.node.Enter(r.t.Context(), p.device, meddler{p, meddle})
			if err != nil {
				t.Fatal(err)
			}
			p.session = s
		}
		r.control.Suspend("t0")
		pass(time.Second)
		for i, p := range all {
			if slug := fault.SlugOf(answers[i]); slug != "session_ended" || p.end() != string(relay.Suspended) {
				t.Errorf("device %d is answered %q and ends by %q", i, slug, p.end())
			}
		}
	})
}

// While a node may not write for a moment, and what it knows is young enough to be read, a publish is refused for now.
func TestPublishesWithoutALease(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Owner)
		r.cut()
		pass(20 * time.Second)
		_, err := p.publishes("main", "one", "1")
		if f, ok := fault.As(err); !ok || f.Kind != fault.Unavailable || f.RetryAfter == 0 || p.end() != "" {
			t.Fatalf("the publish is answered %v, %+v, and the session ended by %q", err, f, p.end())
		}
	})
}
