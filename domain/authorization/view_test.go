package authorization_test

import (
	"reflect"
	"testing"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
)

func newView(mark authorization.Position) *authorization.View {
	return authorization.NewView(authorization.ViewConfig{Tenant: tenantID, Region: regionID, Bound: bound, Mark: mark})
}

// installed is a view that took the world's snapshot, asked for at the given instant.
func installed(t *testing.T, w *world, sentAt time.Duration) *authorization.View {
	t.Helper()
	v := newView(authorization.Position{})
	wantNone(t, v.Install(w.snapshot(ownerPlace()), sentAt))
	return v
}

// The age counts from when the request was sent, and ends at exactly the bound (A6).
func TestAgeCountsFromSending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := id(w.mustAdmit(authorization.Member, 0))
	v := installed(t, w, 5*time.Second)
	wantNone(t, v.Admits(p, 5*time.Second))
	wantNone(t, v.Admits(p, 15*time.Second-1))
	wantSlug(t, v.Admits(p, 15*time.Second), fault.Unavailable, "authorization_stale")
	wantSlug(t, v.Admits(p, 5*time.Second-1), fault.Unavailable, "authorization_stale")
	wantSlug(t, v.Fresh(15*time.Second), fault.Unavailable, "authorization_stale")
	if at, held := v.SentAt(); at != 5*time.Second || !held {
		t.Errorf("the age counts from %v, %v", at, held)
	}
}

// A view that holds nothing denies everyone, also where the node remembers to have seen more.
func TestEmptyViewDenies(t *testing.T) {
	t.Parallel()
	for _, mark := range []authorization.Position{{}, {Generation: 3, Revision: 9}} {
		v := newView(mark)
		wantSlug(t, v.Admits("prn_1", 0), fault.Unavailable, "authorization_unknown")
		wantSlug(t, v.Confirm(mark.Generation, mark.Revision, 0), fault.Gone, "delta_unavailable")
		if _, held := v.SentAt(); held || v.Writable() {
			t.Error("an empty view holds something")
		}
	}
}

// A delta and a confirmation renew the age from their own sending, and an answer to an earlier request never makes what
// is held older (A6).
func TestRenewal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := id(w.mustAdmit(authorization.Member, 0))
	v := installed(t, w, 0)
	snapshot := w.snapshot(ownerPlace())

	wantNone(t, v.Confirm(1, 2, 4*time.Second))
	wantNone(t, v.Admits(p, 13*time.Second))
	wantNone(t, v.Confirm(1, 2, 2*time.Second))
	wantNone(t, v.Install(snapshot, time.Second))
	wantNone(t, v.Admits(p, 13*time.Second))

	w.mustAdmit(authorization.Member, 0)
	d, err := authorization.DeltaSince(w.tenant, 1, 2, w.since(2))
	wantNone(t, err)
	wantNone(t, v.Apply(d, 8*time.Second))
	wantNone(t, v.Admits(p, 17*time.Second))
	wantSlug(t, v.Admits(p, 18*time.Second), fault.Unavailable, "authorization_stale")
}

// The age of a newer snapshot counts from its own sending, even where that is earlier.
func TestNewerSnapshotCountsFromItsOwnSending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := installed(t, w, 5*time.Second)
	p := id(w.mustAdmit(authorization.Member, 0))
	wantNone(t, v.Install(w.snapshot(ownerPlace()), 2*time.Second))
	wantNone(t, v.Admits(p, 11*time.Second))
	wantSlug(t, v.Admits(p, 12*time.Second), fault.Unavailable, "authorization_stale")
}

// An answer that is lower in any of its numbers is refused and renews nothing (A3, P15, P8).
func TestOlderAnswersAreRefused(t *testing.T) {
	t.Parallel()
	held := authorization.Position{Generation: 3, PlacementVersion: 5, LeaseEpoch: 2, Revision: 8}
	snapshot := func(p authorization.Position) authorization.Snapshot {
		return authorization.Snapshot{
			Tenant: tenantID, Generation: p.Generation, PlacementVersion: p.PlacementVersion, LeaseEpoch: p.LeaseEpoch,
			Revision: p.Revision, Status: authorization.TenantActive,
		}
	}
	older := map[string]authorization.Position{
		"generation": {2, 9, 9, 9}, "version": {9, 4, 9, 9}, "lease epoch": {9, 9, 1, 9}, "revision": {9, 9, 9, 7},
	}
	for name, p := range older {
		remembered, holding := newView(held), newView(authorization.Position{})
		wantNone(t, holding.Install(snapshot(held), 0))
		for _, v := range []*authorization.View{remembered, holding} {
			err := v.Install(snapshot(p), bound)
			if fault.SlugOf(err) != "answer_older" || v.Position() != held || v.Fresh(bound) == nil {
				t.Errorf("a lower %s: %v, then %+v", name, err, v.Position())
			}
		}
	}
	v := newView(held)
	wantNone(t, v.Install(snapshot(held), 0))
	wantSlug(t, v.Confirm(2, 8, bound), fault.Conflict, "answer_older")
	wantSlug(t, v.Confirm(3, 7, bound), fault.Conflict, "answer_older")
	wantSlug(t, v.Confirm(4, 8, bound), fault.Gone, "delta_unavailable")
	wantSlug(t, v.Confirm(3, 9, bound), fault.Gone, "delta_unavailable")
	if v.Fresh(bound) == nil {
		t.Error("a refused confirmation renewed the age")
	}
}

// A delta is taken at exactly the revision that is held, whole, and for this tenant (A3).
func TestDeltaMustContinue(t *testing.T) {
	t.Parallel()
	w := logged(t)
	v := installed(t, w, 0)
	before := v.Held()
	w.mustAdmit(authorization.Member, 1)
	w.mustAdmit(authorization.Member, 1)
	good, err := authorization.DeltaSince(w.tenant, 1, 4, w.since(4))
	wantNone(t, err)

	early, late, cut, other := good, good, good, good
	early.From, early.Changes = 3, w.since(3)
	late.From, late.Changes = 5, w.since(5)
	cut.Changes = good.Changes[:3]
	other.Tenant = "rival"
	for name, d := range map[string]authorization.Delta{"early": early, "late": late, "cut": cut} {
		if err := v.Apply(d, bound); fault.SlugOf(err) != "delta_unavailable" {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantSlug(t, v.Apply(other, bound), fault.Conflict, "answer_misdirected")
	foreign := w.snapshot(ownerPlace())
	foreign.Tenant = "rival"
	wantSlug(t, v.Install(foreign, bound), fault.Conflict, "answer_misdirected")
	if !reflect.DeepEqual(v.Held(), before) {
		t.Error("a refused answer changed the view")
	}
	wantNone(t, v.Apply(good, 0))
	wantSlug(t, v.Apply(good, 0), fault.Gone, "delta_unavailable")
}

// A suspension reaches a node by delta; the right to write comes back by a snapshot only, since a delta does not tell it.
func TestSuspensionByDelta(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := id(w.mustAdmit(authorization.Member, 0))
	v := installed(t, w, 0)
	follow := func() error {
		from := v.Position().Revision
		d, err := authorization.DeltaSince(w.tenant, 1, from, w.since(from))
		wantNone(t, err)
		return v.Apply(d, 0)
	}
	if !v.Writable() {
		t.Fatal("the owner may not write")
	}
	wantNone(t, w.status(w.tenant.Suspend))
	wantNone(t, follow())
	wantSlug(t, v.Admits(p, 0), fault.Forbidden, "tenant_suspended")
	if v.Writable() {
		t.Error("a suspended tenant is writable")
	}
	wantNone(t, w.status(w.tenant.Resume))
	wantSlug(t, follow(), fault.Gone, "delta_unavailable")
	wantNone(t, v.Install(w.snapshot(ownerPlace()), 0))
	wantNone(t, v.Admits(p, 0))
	wantNone(t, w.status(w.tenant.Close))
	wantNone(t, follow())
	wantSlug(t, v.Admits(p, 0), fault.Forbidden, "tenant_closed")
}
