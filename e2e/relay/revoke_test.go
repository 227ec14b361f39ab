package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

func (w *world) snapshot(n *harness.Node) contract.Snapshot {
	var s contract.Snapshot
	n.Call("GET", "/tenants/acme/authorization?generation=1", nil, 200, &s)
	return s
}

func revokePath(d harness.Device) string {
	return "/tenants/acme/principals/" + d.Principal + "/revoke"
}

// A revoke through the holder ends the principal and all its handles under one new revision; repeating it changes
// nothing and answers the same; the node learns it by delta, and the audit log has it once (A1, A3, A5).
func TestRevokeIsAtomicAndIdempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Operator("POST", "/api/v1/tenants/acme/routes", contract.NewRoute{ID: "side"}, 201, nil)
	owner, phone := w.Pair("acme", "owner", "desktop"), w.Pair("acme", "member", "phone")
	before := w.snapshot(w.holder())
	ask := contract.NodeRevoke{Generation: 1, AskedBy: owner.Principal}
	var first, again contract.Revoked
	w.holder().Call("POST", revokePath(phone), ask, 200, &first)
	w.holder().Call("POST", revokePath(phone), ask, 200, &again)
	if first.Revision != before.Revision+1 || first.RevokedHandles != 2 || again.Revision != first.Revision {
		t.Fatalf("at revision %d: first %+v, again %+v", before.Revision, first, again)
	}
	var d contract.Delta
	w.holder().Call("GET", fmt.Sprintf("/tenants/acme/authorization/delta?generation=1&since=%d", before.Revision), nil, 200, &d)
	if d.To != first.Revision || len(d.Changes) != 3 {
		t.Fatalf("the delta is %+v", d)
	}
	for _, p := range w.snapshot(w.holder()).Principals {
		if (p.ID == phone.Principal) != (p.Status == "revoked") {
			t.Fatalf("the snapshot has %+v", p)
		}
	}
	for _, h := range w.snapshot(w.holder()).Handles {
		if (h.Principal == phone.Principal) != (h.Status == "revoked") {
			t.Fatalf("the snapshot has %+v", h)
		}
	}
	var log contract.AuditEntries
	w.Operator("GET", "/api/v1/audit?subject=tenant/acme&limit=500", nil, 200, &log)
	seen := 0
	for _, e := range log.Entries {
		if e.Action == "principal.revoked" {
			seen++
		}
	}
	if seen != 1 {
		t.Fatalf("the audit log has the revoke %d times", seen)
	}
}

// Only the holder at its generation revokes; another node gets what it would get for a tenant that does not exist, and
// never the generation (A5, I8).
func TestRevokeFromANodeThatDoesNotHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, phone := w.Pair("acme", "owner", "desktop"), w.Pair("acme", "member", "phone")
	ask := contract.NodeRevoke{Generation: 1, AskedBy: owner.Principal}
	known := w.other().Do("POST", revokePath(phone), ask)
	unknown := w.other().Do("POST", "/tenants/nobody/principals/"+phone.Principal+"/revoke", ask)
	if known.Status != 404 || known.Slug() != "not_found" || unknown.Status != 404 || unknown.Slug() != known.Slug() {
		t.Fatalf("%d %s and %d %s", known.Status, known.Body, unknown.Status, unknown.Body)
	}
	m := w.begin()
	m.Prepare()
	m.Quiesce()
	m.Copy()
	m.Source.Refused("POST", revokePath(phone), ask, 404, "not_found")
	m.Target.Refused("POST", revokePath(phone), ask, 409, "generation_stale")
	ask.Generation = 2
	m.Target.Call("POST", revokePath(phone), ask, 200, nil)
	m.Target.Refused("POST", revokePath(owner), contract.NodeRevoke{Generation: 2, AskedBy: owner.Principal}, 409, "last_owner")
	w.Operator("POST", "/api/v1"+revokePath(owner), nil, 200, nil)
}

// A delta from a revision that nobody knows is 410, and the snapshot then brings the node up to date (A3).
func TestUnknownDeltaLeadsToASnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Pair("acme", "owner", "desktop")
	w.holder().Refused("GET", "/tenants/acme/authorization/delta?generation=1&since=4000", nil, 410, "delta_unavailable")
	s := w.snapshot(w.holder())
	var d contract.Delta
	w.holder().Call("GET", fmt.Sprintf("/tenants/acme/authorization/delta?generation=1&since=%d", s.Revision), nil, 200, &d)
	if d.From != s.Revision || d.To != s.Revision || len(d.Changes) != 0 {
		t.Fatalf("a delta from now is %+v", d)
	}
}

// A compacted revision is 410 too: what is kept of the log is bounded (A3).
func TestCompactedDelta(t *testing.T) {
	t.Parallel()
	w := &world{Server: harness.Start(t, "BERTH_KEEP_CHANGES=3", "BERTH_SWEEP_ACCESS=100ms"), nodes: map[string]*harness.Node{}, tenant: "acme"}
	w.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: "eu", Origin: "https://eu.relay.test"}, 201, nil)
	w.nodes["a"] = w.NewNode("a", "eu", 10)
	w.Operator("POST", "/api/v1/tenants", contract.NewTenant{ID: "acme", HomeRegion: "eu"}, 201, nil)
	for i := range 8 {
		w.Operator("POST", "/api/v1/tenants/acme/routes", contract.NewRoute{ID: fmt.Sprintf("r%d", i)}, 201, nil)
	}
	w.Eventually("the first revision is compacted", func() bool {
		return w.nodes["a"].Do("GET", "/tenants/acme/authorization/delta?generation=1&since=1", nil).Slug() == "delta_unavailable"
	})
	s := w.snapshot(w.nodes["a"])
	if len(s.Routes) != 9 || s.Revision != 9 {
		t.Fatalf("the snapshot after compaction is %+v", s)
	}
}

// A snapshot carries digests of handles and no token; the digest is that of the handle the device was shown (A2, A8).
func TestSnapshotHoldsDigestsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.Pair("acme", "owner", "desktop")
	sum := sha256.Sum256([]byte(d.RouteHandles[0].Handle))
	s := w.snapshot(w.holder())
	if len(s.Handles) != 1 || s.Handles[0].SHA256 != hex.EncodeToString(sum[:]) || !s.Writable || s.LeaseEpoch != 1 {
		t.Fatalf("the snapshot is %+v", s)
	}
	w.other().Refused("GET", "/tenants/acme/authorization?generation=1", nil, 404, "not_found")
}

// A poll that waits answers as soon as a revoke commits, with the delta (A4).
func TestWaitingPollSeesARevoke(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, phone := w.Pair("acme", "owner", "desktop"), w.Pair("acme", "member", "phone")
	s := w.snapshot(w.holder())
	known := contract.Poll{Tenants: []contract.Known{{Tenant: "acme", Generation: 1, Revision: s.Revision}}, Wait: 30}
	holder, waiting := w.holder(), w.Waiting()
	answered := make(chan harness.Answer, 1)
	go func() { answered <- holder.Do("POST", "/nodes/"+holder.ID+"/authorization/poll", known) }()
	w.Eventually("the poll waits", func() bool { return w.Waiting() > waiting })
	start := time.Now()
	holder.Call("POST", revokePath(phone), contract.NodeRevoke{Generation: 1, AskedBy: owner.Principal}, 200, nil)
	a := <-answered
	var out contract.Polled
	harness.Decode(t, a, 200, &out)
	if len(out.Tenants) != 1 || out.Tenants[0].Result != "delta" || out.Tenants[0].Delta.To != s.Revision+1 {
		t.Fatalf("the poll answered %s", a.Body)
	}
	if took := time.Since(start); took > 25*time.Second {
		t.Fatalf("the poll answered by its own deadline, after %s", took)
	}
	stranger := w.other()
	var told contract.Polled
	stranger.Call("POST", "/nodes/"+stranger.ID+"/authorization/poll", contract.Poll{
		Tenants: []contract.Known{{Tenant: "acme"}, {Tenant: "nobody"}},
	}, 200, &told)
	if len(told.Tenants) != 2 {
		t.Fatalf("a stranger is told %+v", told)
	}
	for _, e := range told.Tenants {
		if e.Result != "not_found" || e.Generation != 0 {
			t.Fatalf("a stranger is told %+v", e)
		}
	}
}

// A poll to which nothing happens lasts as long as was asked, and then confirms what is known (A4).
func TestAWaitingPollLastsItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, s := w.holder(), w.snapshot(w.holder())
	const wait = 8 // longer than any deadline on how slowly a body may arrive
	known := contract.Poll{Tenants: []contract.Known{{Tenant: "acme", Generation: 1, Revision: s.Revision}}, Wait: wait}
	start := time.Now()
	var out contract.Polled
	n.Call("POST", "/nodes/"+n.ID+"/authorization/poll", known, 200, &out)
	if took := time.Since(start); len(out.Tenants) != 0 || took < wait*time.Second {
		t.Fatalf("after %s: %+v", took, out)
	}
	n.Beat()
}

// A suspended tenant admits nobody: its snapshot says so, and its devices are told why (P13).
func TestSuspend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.Pair("acme", "owner", "desktop")
	if d.ConnectionState != "ready" || d.ConnectURL != "wss://eu.relay.test/connect/v1" {
		t.Fatalf("paired as %+v", d.Device)
	}
	w.Operator("POST", "/api/v1/tenants/acme/suspend", nil, 200, nil)
	if s := w.snapshot(w.holder()); s.Status != "suspended" || s.Writable {
		t.Fatalf("the snapshot of a suspended tenant is %+v", s)
	}
	w.Operator("POST", "/api/v1/tenants/acme/resume", nil, 200, nil)
	if s := w.snapshot(w.holder()); s.Status != "active" || !s.Writable {
		t.Fatalf("the snapshot of a resumed tenant is %+v", s)
	}
}

// A poll that is sent again byte by byte is answered by nothing as long as nothing changed, in the form of every poll, and
// by the change as soon as there is one; another node learns nothing by the same body (A4, I8).
func TestPollSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder, stranger := w.holder(), w.other()
	poll := func(n *harness.Node) (out contract.Polled) {
		n.Call("POST", "/nodes/"+n.ID+"/authorization/poll", contract.Poll{
			Tenants: []contract.Known{{Tenant: "acme", Generation: 1, Revision: 1}},
		}, 200, &out)
		return out
	}
	for range 3 {
		if got := poll(holder); len(got.Tenants) != 0 {
			t.Fatalf("nothing changed, and the poll answers %+v", got)
		}
		if got := poll(stranger); len(got.Tenants) != 1 || got.Tenants[0].Result != "not_found" {
			t.Fatalf("a stranger is answered %+v", got)
		}
	}
	w.Pair("acme", "owner", "desktop")
	for range 3 {
		if got := poll(holder); len(got.Tenants) != 1 || got.Tenants[0].Result != "delta" {
			t.Fatalf("after a change the poll answers %+v", got)
		}
	}
}
