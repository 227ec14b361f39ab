package relay_test

import (
	"context"
	"testing"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
)

// Who has just seen that no Engine is open, and comes to open it when another did, is let in by that one.
func TestOpensOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Member)
		if err := r.node.OpenOnceMore("t0"); err != nil {
			t.Fatal(err)
		}
		if s := r.node.Status(); s.Engines != 1 || p.end() != "" || r.node.Tenants()[0].Failed != nil {
			t.Fatalf("%d Engines are open, ended by %q", s.Engines, p.end())
		}
	})
}

// What was permitted a moment ago opens nothing that is denied by now.
func TestOpensNothingLate(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Member)
		r.control.Suspend("t0")
		r.within(time.Second, "its session ends", func() bool { return p.end() == "suspended" })
		opens := r.opens.Load()
		if err := r.node.OpenLate("t0"); fault.SlugOf(err) != "tenant_suspended" || r.opens.Load() != opens || r.node.Status().Engines != 0 {
			t.Fatalf("%d Engines are open: %v", r.node.Status().Engines, err)
		}
	})
}

// What was to close an Engine, and comes when another one is open, closes nothing.
func TestClosesNothingLate(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Member)
		late := r.node.CloseLate("t0")
		r.control.Suspend("t0")
		r.within(time.Second, "its session ends", func() bool { return p.end() == "suspended" })
		r.control.Resume("t0")
		p = r.connected(authorization.Member)
		late()
		if _, err := p.publishes("main", "a", "1"); err != nil || p.end() != "" {
			t.Fatalf("it ended by %q: %v", p.end(), err)
		}
	})
}

// A tenant whose Engine is about to be opened is not let go, however long nobody waits for it; and it is after that.
func TestOpeningForNobody(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.EngineIdle = time.Second }
		r.spoiled(func(method string, _ bool) error {
			if method == "Snapshot" {
				return lost()
			}
			return nil
		})
		r.start()
		r.within(5*time.Second, "the tenant is known", func() bool { return len(r.node.Tenants()) == 1 })
		ctx, gone := context.WithTimeout(r.t.Context(), 100*time.Millisecond)
		defer gone()
		if err := r.pair(authorization.Member).enter(ctx, r.node); fault.SlugOf(err) != "request_ended" {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		if s := r.node.Status(); s.Rooms != 1 {
			t.Fatalf("%d rooms while one is opened", s.Rooms)
		}
		pass(5 * time.Second)
		if s := r.node.Status(); s.Rooms != 0 || s.Engines != 0 {
			t.Fatalf("%d rooms and %d Engines after that", s.Rooms, s.Engines)
		}
	})
}
