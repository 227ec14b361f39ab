package relay_test

import (
	"testing"
	"time"

	"berth/domain/authorization"
)

// A hint reaches the node at once: from the first moment that a tenant is open, when another one has just been opened, and while
// a snapshot of another is due (A4).
func TestHintsReachAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.control.AddTenant("t1", "n0")
		other := phoneOf(r.control.Pair("t1", authorization.Owner))
		var members []*phone
		for range 3 {
			members = append(members, r.pair(authorization.Member))
		}
		r.spoiled(func(method string, _ bool) error {
			if method == "Poll" {
				return lost()
			}
			return nil
		})
		r.start()
		enter := func(p *phone) {
			r.within(5*time.Second, "it is let in", func() bool { return p.enter(r.t.Context(), r.node) == nil })
		}
		revoke := func(p *phone, when string) {
			if _, err := r.control.RevokePrincipal("t0", p.Principal); err != nil {
				t.Fatal(err)
			}
			r.within(50*time.Millisecond, "its session ends "+when, func() bool { return p.end() == "revoked" })
		}
		enter(members[0])
		revoke(members[0], "at first")
		enter(members[1])
		enter(members[2])
		pass(5 * time.Second)
		enter(other)
		revoke(members[1], "as another tenant opens")
		pass(5 * time.Second)
		r.control.Suspend("t1")
		r.within(100*time.Millisecond, "the other ends", func() bool { return other.end() == "suspended" })
		r.control.Resume("t1")
		pass(time.Millisecond)
		revoke(members[2], "as a snapshot of another is due")
	})
}

// A migration that is aborted ends no session: reading goes on, and so does writing once a snapshot says so (P6, A6).
func TestAbortEndsNoSession(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 5 * time.Millisecond, 2 * time.Second} {
		bubble(t, func(r *rig) {
			r.up()
			p := r.connected(authorization.Member)
			id := r.quiesce()
			pass(after)
			r.spoiled(func(method string, _ bool) error { // the snapshot takes a while
				if method == "Snapshot" {
					return lost()
				}
				return nil
			})
			if err := r.control.Abort(id); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
			r.spoiled(nil)
			r.within(10*time.Second, "it writes on", func() bool { _, err := p.publishes("main", "a", "1"); return err == nil || p.end() != "" })
			if p.end() != "" {
				t.Fatalf("%v after it began it is ended by %q", after, p.end())
			}
		})
	}
}
