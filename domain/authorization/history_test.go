package authorization_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// history drives a world at random and holds, after every step, what must be true of any history.
type history struct {
	*world
	t        *rapid.T
	view     *authorization.View // follows by deltas
	revision int64
	floor    int64
}

func (h *history) pick(label string) *authorization.Principal {
	if len(h.principals) == 0 {
		h.t.Skip("nobody was admitted yet")
	}
	return rapid.SampledFrom(h.principals).Draw(h.t, label)
}

func (h *history) requester() authorization.Requester {
	switch rapid.IntRange(0, 3).Draw(h.t, "requester") {
	case 0:
		return authorization.ByOperator("ada")
	case 1:
		return authorization.ByNode(h.pick("asker"))
	case 2:
		return authorization.ByOwner(h.pick("asker"))
	}
	return authorization.ByNode(nil)
}

// attempt runs one event and checks that it raised the revision by one, or refused and changed nothing.
func (h *history) attempt(event func() error) {
	head, rest := h.tenant.Record(), h.records()
	err := event()
	if err != nil {
		if h.tenant.Record() != head || !reflect.DeepEqual(h.records(), rest) {
			h.t.Fatalf("a refusal (%v) changed something", err)
		}
		if fault.KindOf(err) == fault.Internal {
			h.t.Fatalf("a defect: %v", err)
		}
		return
	}
	if grown := h.tenant.Revision() - head.Revision; grown != 1 && h.tenant.Record() != head {
		h.t.Fatalf("an event raised the revision by %d", grown)
	}
}

func (h *history) records() []any {
	var out []any
	for _, p := range h.principals {
		out = append(out, p.Record())
	}
	for _, handle := range h.allHandles() {
		out = append(out, handle.Record())
	}
	return out
}

func (h *history) actions() map[string]func(*rapid.T) {
	do := func(event func() error) func(*rapid.T) {
		return func(t *rapid.T) {
			h.t, h.now = t, h.now.Add(time.Second)
			h.attempt(event)
		}
	}
	return map[string]func(*rapid.T){
		"admit": do(func() error {
			role := rapid.SampledFrom([]authorization.Role{authorization.Owner, authorization.Member}).Draw(h.t, "role")
			_, err := h.admit(role, rapid.IntRange(0, 3).Draw(h.t, "handles"))
			return err
		}),
		"grant":   do(func() error { return h.grant(h.pick("principal"), rapid.IntRange(0, 2).Draw(h.t, "handles")) }),
		"route":   do(func() error { return h.addRoute(h.requester()) }),
		"revoke":  do(func() error { _, err := h.revoke(h.pick("principal"), h.requester()); return err }),
		"suspend": do(func() error { return h.status(h.tenant.Suspend) }),
		"close": do(func() error {
			if rapid.IntRange(0, 19).Draw(h.t, "rarely") > 0 {
				h.t.Skip("not now")
			}
			return h.status(h.tenant.Close)
		}),
		"resume":  do(func() error { return h.status(h.tenant.Resume) }),
		"compact": func(t *rapid.T) { h.t = t; h.compact(rapid.IntRange(0, 8).Draw(t, "keep")); h.floorGrew() },
		"follow":  func(t *rapid.T) { h.t = t; h.follow() },
		"":        func(t *rapid.T) { h.t = t; h.check() },
	}
}

func (h *history) floorGrew() {
	if h.tenant.Record().Floor < h.floor || h.tenant.Record().Floor > h.tenant.Revision() {
		h.t.Fatalf("the floor went from %d to %d at revision %d", h.floor, h.tenant.Record().Floor, h.tenant.Revision())
	}
	h.floor = h.tenant.Record().Floor
}

// follow brings the view up to date by a delta, or by a snapshot exactly where the delta must be refused, and compares.
func (h *history) follow() {
	from := h.view.Position().Revision
	held := h.view.Held().Status
	resumed := held == authorization.TenantSuspended && h.tenant.Status() == authorization.TenantActive
	delta, err := authorization.DeltaSince(h.tenant, 1, from, h.since(from))
	if err == nil {
		err = h.view.Apply(delta, 0)
	}
	switch {
	case err == nil && (from < h.tenant.Record().Floor || resumed):
		h.t.Fatalf("a delta from %d was taken; floor %d, resumed %v", from, h.tenant.Record().Floor, resumed)
	case err == nil:
		sameRights(h.t, h.view.Held(), h.snapshot(ownerPlace()))
	case fault.SlugOf(err) != "delta_unavailable" || from >= h.tenant.Record().Floor && !resumed:
		h.t.Fatalf("a delta from %d with the floor at %d: %v", from, h.tenant.Record().Floor, err)
	default:
		if err := h.view.Install(h.snapshot(ownerPlace()), 0); err != nil {
			h.t.Fatalf("install: %v", err)
		}
	}
}

// sameRights compares what a delta made with a new snapshot: they are equal but for revoked ones, of which the snapshot
// leaves out those that no delta tells any more.
func sameRights(t *rapid.T, got, want authorization.Snapshot) {
	told := map[any]authorization.Status{}
	for _, p := range want.Principals {
		told[p] = p.Status
	}
	for _, handle := range want.Handles {
		told[handle] = handle.Status
	}
	held := map[any]bool{}
	see := func(thing any, status authorization.Status) {
		held[thing] = true
		if _, known := told[thing]; !known && status == authorization.Active {
			t.Fatalf("the delta left %v in force", thing)
		}
	}
	for _, p := range got.Principals {
		see(p, p.Status)
	}
	for _, handle := range got.Handles {
		see(handle, handle.Status)
	}
	for thing := range told {
		if !held[thing] {
			t.Fatalf("the delta did not bring %v", thing)
		}
	}
	got.Principals, got.Handles, want.Principals, want.Handles = nil, nil, nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("the delta made %+v, the snapshot says %+v", got, want)
	}
}

func (h *history) check() {
	if h.tenant.Revision() < h.revision {
		h.t.Fatalf("the revision went from %d to %d", h.revision, h.tenant.Revision())
	}
	h.revision = h.tenant.Revision()
	h.snapshot(ownerPlace()) // fails where a counter is wrong
	for _, p := range h.principals {
		for _, handle := range h.handles[id(p)] {
			if !p.Active() && handle.Record().Status == authorization.Active {
				h.t.Fatalf("%s is revoked and keeps a handle", id(p))
			}
		}
	}
}

// In any history: a change raises the revision by exactly one and a refusal changes nothing; the counters are right; a
// revoked principal keeps no handle; a delta applied to what was held gives what a new snapshot says, and is refused
// exactly when it reaches below the floor (A1, A3, A5).
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{world: newWorld(rt), t: rt, view: authorization.NewView(authorization.ViewConfig{
			Tenant: tenantID, Region: regionID, Bound: time.Minute,
		})}
		h.follow()
		rt.Repeat(h.actions())
	})
}
