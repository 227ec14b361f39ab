package access_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"berth/application/access"
	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/notify"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// couple is a world with an owner and a member of acme, on two routes.
func couple(t tb) (w *world, owner, member string) {
	t.Helper()
	w = housed(t)
	w.route("alerts")
	owner, member = w.pair(1, authorization.Owner).Principal, w.pair(2, authorization.Member).Principal
	w.hints.Took()
	return w, owner, member
}

// A revoke ends the principal and all of its handles in one revision, with change log and audit, and hints at the
// holder (A5). Repeating it changes nothing and answers the same, also once the asker is revoked itself.
func TestRevokeByNode(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	w.mem.Inject(storetest.Faults{Twice: true})
	revision := w.tenant().Revision
	out, err := w.revoke(member, owner)
	w.must(err)
	if out != (access.RevokedAnswer{Revision: revision + 1, Handles: 2}) {
		t.Fatalf("answered %+v", out)
	}
	if got := w.hints.Took(); !slices.Equal(got, []notify.Topic{"node/a", "tenant/acme"}) {
		t.Fatalf("hinted at %v", got)
	}
	w.revokedEverywhere(member, 2)
	e := w.lastEntry("principal.revoked")
	want := map[string]string{
		"principal": member, "asked_by": owner, "generation": "1", "handles": "2", "revision": fmt.Sprint(revision + 1),
	}
	if e.Actor != (audit.Actor{Kind: audit.ActorNode, ID: "a", Source: caller("a").Fingerprint}) || !equal(e.Detail, want) {
		t.Fatalf("the audit entry is %+v", e)
	}
	before := w.dump()
	again, err := w.revoke(member, owner)
	w.must(err)
	if again != out {
		t.Fatalf("repeated, it answers %+v", again)
	}
	w.same(before, "a repeated revoke")
	_, err = w.RevokeByOperator(w.ctx, access.RevokeByOperatorRequest{Actor: alice, Tenant: "acme", Principal: owner})
	w.must(err)
	w.hints.Took()
	before = w.dump()
	again, err = w.revoke(member, owner)
	w.must(err)
	if again != out {
		t.Fatalf("repeated by one who was revoked since, it answers %+v", again)
	}
	w.same(before, "a repeated revoke")
}

func equal(a, b map[string]string) bool {
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// revokedEverywhere checks the three places that say so against one another: records, snapshot, and delta.
func (w *world) revokedEverywhere(principal string, handles int) {
	w.t.Helper()
	s := w.snapshot("a")
	found, dead := false, 0
	for _, p := range s.Principals {
		found = found || p.ID == principal && p.Status == authorization.Revoked
	}
	for _, h := range s.Handles {
		if h.Principal == principal && h.Status == authorization.Revoked {
			dead++
		}
	}
	delta, err := w.Delta(w.ctx, access.DeltaRequest{
		Caller: caller("a"), Tenant: "acme", Generation: s.Generation, Since: s.Revision - 1,
	})
	w.must(err)
	if !found || dead != handles || len(delta.Changes) != 1+handles {
		w.t.Fatalf("the snapshot says %+v, the delta %+v", s, delta)
	}
}

// A revoke that the store fails, at whichever write or at the commit, changes nothing and hints at nothing, and its
// ticket is not spent: the node may send the very same again.
func TestRevokeIsAtomic(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	before := w.dump()
	in := access.RevokeByNodeRequest{
		Caller: caller("a"), Ticket: w.ticket(), Tenant: "acme", Principal: member, AskedBy: owner, Generation: 1,
	}
	w.mem.Inject(storetest.Faults{Commit: storetest.Always(storetest.Unavailable())})
	_, err := w.RevokeByNode(w.ctx, in)
	w.refused(err, fault.Unavailable, "store_unavailable")
	w.mem.Inject(storetest.Faults{})
	w.same(before, "a revoke whose commit failed")
	for n := int64(1); ; n++ {
		w.Store = &failing{Store: w.mem, at: n}
		_, err := w.RevokeByNode(w.ctx, in)
		if err == nil {
			if n < 6 {
				t.Fatalf("there were but %d writes", n-1)
			}
			break
		}
		w.refused(err, fault.Unavailable, "store_unavailable")
		w.same(before, fmt.Sprintf("a revoke whose write %d failed", n))
	}
	w.revokedEverywhere(member, 2)
	_, err = w.RevokeByNode(w.ctx, in)
	w.refused(err, fault.Unauthenticated, "assertion_replayed")
}

// A revoke whose answer was lost after the commit is found done when it is asked again.
func TestRevokeWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	w.mem.Inject(storetest.Faults{Answer: storetest.Always(storetest.CommitUnknown())})
	_, err := w.revoke(member, owner)
	w.refused(err, fault.Unavailable, "commit_unknown")
	w.mem.Inject(storetest.Faults{})
	before := w.dump()
	w.hints.Took()
	out, err := w.revoke(member, owner)
	w.must(err)
	if out != (access.RevokedAnswer{Revision: 5, Handles: 2}) {
		t.Fatalf("answered %+v", out)
	}
	w.same(before, "a repeated revoke")
}

// Fifty revokes at once, through two replicas, are one.
func TestRevokesAtOnceAreOne(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	entries := len(w.entries())
	replicas := []*access.Access{w.Access, w.replica(2)}
	answers := make([]access.RevokedAnswer, 50)
	var all sync.WaitGroup
	for i := range answers {
		in := access.RevokeByNodeRequest{
			Caller: caller("a"), Ticket: w.ticket(), Tenant: "acme", Principal: member, AskedBy: owner, Generation: 1,
		}
		all.Go(func() { answers[i], _ = replicas[i%2].RevokeByNode(w.ctx, in) })
	}
	all.Wait()
	for _, got := range answers {
		if got != (access.RevokedAnswer{Revision: 5, Handles: 2}) {
			t.Fatalf("answered %+v", got)
		}
	}
	if n := len(w.entries()) - entries; n != 1 || w.tenant().Revision != 5 {
		t.Fatalf("%d audit entries, revision %d", n, w.tenant().Revision)
	}
}

// Who may not revoke is refused by a slug of its own, and changes nothing.
func TestRevokeRefused(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	gone := w.pair(3, authorization.Owner).Principal
	_, err := w.revoke(gone, owner)
	w.must(err)
	w.hints.Took()
	before := w.dump()
	good := access.RevokeByNodeRequest{Caller: caller("a"), Tenant: "acme", Principal: member, AskedBy: owner, Generation: 1}
	for _, c := range []struct {
		what   string
		kind   fault.Kind
		slug   string
		change func(*access.RevokeByNodeRequest)
	}{
		{"another node", fault.NotFound, "not_found", func(r *access.RevokeByNodeRequest) { r.Caller = caller("b") }},
		{"an old generation", fault.Conflict, "generation_stale", func(r *access.RevokeByNodeRequest) { r.Generation = 0 }},
		{"one never given", fault.Conflict, "generation_ahead", func(r *access.RevokeByNodeRequest) { r.Generation = 2 }},
		{"no generation", fault.Invalid, "out_of_range", func(r *access.RevokeByNodeRequest) { r.Generation = -1 }},
		{"nobody", fault.NotFound, "principal_not_found", func(r *access.RevokeByNodeRequest) { r.Principal = "prn_x" }},
		{"nothing", fault.NotFound, "principal_not_found", func(r *access.RevokeByNodeRequest) { r.Principal = "" }},
		{"a member asks", fault.Forbidden, "revoke_not_allowed", func(r *access.RevokeByNodeRequest) {
			r.Principal, r.AskedBy = owner, member
		}},
		{"nobody asks", fault.Forbidden, "revoke_not_allowed", func(r *access.RevokeByNodeRequest) { r.AskedBy = "prn_x" }},
		{"nothing asks", fault.Forbidden, "revoke_not_allowed", func(r *access.RevokeByNodeRequest) { r.AskedBy = "\x00" }},
		{"a revoked owner asks", fault.Forbidden, "revoke_not_allowed", func(r *access.RevokeByNodeRequest) { r.AskedBy = gone }},
		{"the last owner", fault.Conflict, "last_owner", func(r *access.RevokeByNodeRequest) { r.Principal = owner }},
	} {
		in := good
		in.Ticket = w.ticket()
		c.change(&in)
		_, err := w.RevokeByNode(w.ctx, in)
		w.refused(err, c.kind, c.slug)
		w.same(before, c.what)
	}
}

// A principal of another tenant is none of this one's, to revoke or to ask.
func TestRevokeAcrossTenants(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	_, err := w.CreateTenant(w.ctx, create("other", "eu"))
	w.must(err)
	code, err := w.PairingCode(w.ctx, access.PairingCodeRequest{Actor: alice, Tenant: "other", Role: authorization.Owner})
	w.must(err)
	stranger, err := w.RegisterDevice(w.ctx, registration(code.Code, 7))
	w.must(err)
	_, err = w.revoke(stranger.Principal, owner)
	w.refused(err, fault.NotFound, "principal_not_found")
	unknown, _ := fault.As(err)
	_, err = w.revoke("prn_x", owner)
	if f, _ := fault.As(err); f.Error() != unknown.Error() {
		t.Fatalf("a stranger's device is told apart from none: %v, %v", unknown, err)
	}
	_, err = w.revoke(member, stranger.Principal)
	w.refused(err, fault.Forbidden, "revoke_not_allowed")
}

// A member may end itself. An operator may end the last owner, in a suspended tenant too.
func TestRevokeSelfAndByOperator(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	_, err := w.revoke(member, member)
	w.must(err)
	_, err = w.Suspend(w.ctx, access.SuspendRequest{Actor: alice, Tenant: "acme"})
	w.must(err)
	in := access.RevokeByOperatorRequest{Actor: alice, Tenant: "acme", Principal: owner}
	out, err := w.RevokeByOperator(w.ctx, in)
	w.must(err)
	if e := w.lastEntry("principal.revoked"); e.Actor != alice || e.Detail["principal"] != owner {
		t.Fatalf("the audit entry is %+v", e)
	}
	w.hints.Took()
	before := w.dump()
	again, err := w.RevokeByOperator(w.ctx, in)
	w.must(err)
	if again != out || w.tenant().Owners != 0 {
		t.Fatalf("%+v, then %+v", out, again)
	}
	w.same(before, "a repeated revoke")
	_, err = w.RevokeByOperator(w.ctx, access.RevokeByOperatorRequest{Actor: alice, Tenant: "nobody", Principal: owner})
	w.refused(err, fault.NotFound, "tenant_not_found")
	_, err = w.RevokeByOperator(w.ctx, access.RevokeByOperatorRequest{Actor: alice, Tenant: "acme", Principal: "prn_x"})
	w.refused(err, fault.NotFound, "principal_not_found")
}

// The hint goes to the node that holds the tenant when the revoke commits.
func TestRevokeHintsAtTheHolder(t *testing.T) {
	t.Parallel()
	w, _, member := couple(t)
	w.moves(placement.PhaseDraining)
	_, err := w.RevokeByOperator(w.ctx, access.RevokeByOperatorRequest{Actor: alice, Tenant: "acme", Principal: member})
	w.must(err)
	if got := w.hints.Took(); !slices.Equal(got, []notify.Topic{"node/b", "tenant/acme"}) {
		t.Fatalf("hinted at %v", got)
	}
}

// That the request ended once the commit was made keeps no hint from being published.
func TestRevokeHintsAlthoughTheCallerLeft(t *testing.T) {
	t.Parallel()
	w, _, member := couple(t)
	ctx, leave := context.WithCancel(w.ctx)
	w.mem.Inject(storetest.Faults{Answer: func() error { leave(); return nil }})
	_, err := w.RevokeByOperator(ctx, access.RevokeByOperatorRequest{Actor: alice, Tenant: "acme", Principal: member})
	w.must(err)
	if got := w.hints.Took(); len(got) != 2 {
		t.Fatalf("hinted at %v", got)
	}
}

var _ store.Store = (*failing)(nil)
