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
