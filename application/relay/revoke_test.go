package relay_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/engine"
)

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
		if _, err := member.session.Revoke(r.t.Context(), other.Principal); fault.SlugOf(err) != "revoke_not_allowed" || r.called("Revoke") > 0 {
			t.Fatalf("a member revokes: %v, after %d questions", err, r.called("Revoke"))
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

// Whatever way a revocation is heard of, the disk remembers it, for a control plane that forgets (D4).
func TestRevocationsAreRemembered(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		owner, asked, heard := r.connected(authorization.Owner), r.connected(authorization.Member), r.connected(authorization.Member)
		pass(5 * time.Second)
		first, err := owner.session.Revoke(r.t.Context(), asked.Principal)
		if err != nil {
			t.Fatal(err)
		}
		second, err := r.control.RevokePrincipal("t0", heard.Principal)
		if err != nil {
			t.Fatal(err)
		}
		r.within(6*time.Second, "it is heard of", func() bool { return heard.end() == "revoked" })
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		e, err := r.disk.Open(r.t.Context(), "t0")
		if err != nil {
			t.Fatal(err)
		}
		buried, err := e.Buried(r.t.Context())
		want := []engine.Tombstone{{Principal: asked.Principal, Revision: first}, {Principal: heard.Principal, Revision: second}}
		if err != nil || !slices.Equal(buried, want) {
			t.Fatalf("buried are %v: %v", buried, err)
		}
	})
}
