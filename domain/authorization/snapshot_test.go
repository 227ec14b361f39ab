package authorization_test

import (
	"reflect"
	"slices"
	"testing"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
)

// A snapshot says everything of the tenant and its place, in the same order however the store returns it (A2, P15).
func TestSnapshot(t *testing.T) {
	t.Parallel()
	w := logged(t)
	wantNone(t, w.addRoute(authorization.ByOperator("ada")))
	place := authorization.Place{Generation: 3, Version: 9, LeaseEpoch: 2, Role: placement.RoleTarget, Phase: placement.PhaseDraining}
	s := w.snapshot(place)

	owner, member := w.principals[0].Record(), w.principals[1].Record()
	want := authorization.Snapshot{
		Tenant: tenantID, Generation: 3, PlacementVersion: 9, LeaseEpoch: 2, Revision: 5,
		Status: authorization.TenantActive, Writable: true,
		Principals: []authorization.PrincipalView{
			{ID: owner.ID, Kind: authorization.Phone, Role: authorization.Owner, Status: authorization.Active},
			{ID: member.ID, Kind: authorization.Phone, Role: authorization.Member, Status: authorization.Revoked},
		},
		Handles: []authorization.HandleView{
			{SHA256: digestOf(2), Principal: owner.ID, Route: "main", Status: authorization.Active},
			{SHA256: digestOf(4), Principal: member.ID, Route: "main", Status: authorization.Revoked},
			{SHA256: digestOf(5), Principal: member.ID, Route: "main", Status: authorization.Revoked},
		},
		Routes: []string{"main", w.routes[1].Record().ID},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("the snapshot is %+v, not %+v", s, want)
	}
	slices.Reverse(w.principals)
	slices.Reverse(w.routes)
	if !reflect.DeepEqual(w.snapshot(place), s) {
		t.Error("another order of the records makes another snapshot")
	}
}

// Nobody writes in a tenant that is not active.
func TestSnapshotOfSuspendedIsNotWritable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wantNone(t, w.status(w.tenant.Suspend))
	if s := w.snapshot(ownerPlace()); s.Writable || s.Status != authorization.TenantSuspended {
		t.Errorf("the snapshot is %+v", s)
	}
}

// What was revoked below the floor is not told any more, so that a snapshot does not grow with every device that ever was.
func TestSnapshotForgetsCompactedRevocations(t *testing.T) {
	t.Parallel()
	w := logged(t)
	if s := w.snapshot(ownerPlace()); len(s.Principals) != 2 || len(s.Handles) != 3 {
		t.Fatalf("the snapshot is %+v", s)
	}
	w.compact(0)
	if s := w.snapshot(ownerPlace()); len(s.Principals) != 1 || len(s.Handles) != 1 || s.Revision != 4 {
		t.Errorf("the snapshot is %+v", s)
	}
	if w.tenant.Lists(4) || !w.tenant.Lists(5) || !w.tenant.Lists(0) {
		t.Error("Lists says otherwise than the snapshot")
	}
}

// A snapshot out of records that do not fit together is not answered (A2: one view of the primary).
func TestTornSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.mustAdmit(authorization.Owner, 1), w.mustAdmit(authorization.Member, 1)
	stale := authorization.RestorePrincipal(b.Record())
	staleHandle := authorization.RestoreHandle(w.handles[id(b)][0].Record())
	old := authorization.RestoreTenant(w.tenant.Record())
	_, err := w.revoke(b, authorization.ByOperator("ada"))
	wantNone(t, err)
	foreign := a.Record()
	foreign.Tenant = "rival"
	foreignHandle := w.handles[id(a)][0].Record()
	foreignHandle.Tenant = "rival"
	strayRoute := authorization.RestoreRoute(authorization.RouteRecord{Tenant: "rival", ID: "main"})

	type records struct {
		head       *authorization.Tenant
		principals []*authorization.Principal
		handles    []*authorization.Handle
		routes     []authorization.Route
	}
	handles := w.allHandles()
	cases := map[string]records{
		"a principal from before its revocation": {w.tenant, []*authorization.Principal{a, stale}, handles, w.routes},
		"a handle from before its revocation":    {w.tenant, w.principals, []*authorization.Handle{handles[0], staleHandle}, w.routes},
		"a head from before the revocation":      {old, w.principals, handles, w.routes},
		"a principal left out":                   {w.tenant, []*authorization.Principal{b}, handles, w.routes},
		"a handle left out":                      {w.tenant, w.principals, handles[1:], w.routes},
		"a route left out":                       {w.tenant, w.principals, handles, nil},
		"another tenant's principal": {
			w.tenant, []*authorization.Principal{authorization.RestorePrincipal(foreign), b}, handles, w.routes,
		},
		"another tenant's handle": {
			w.tenant, w.principals, []*authorization.Handle{authorization.RestoreHandle(foreignHandle), handles[1]}, w.routes,
		},
		"another tenant's route": {w.tenant, w.principals, handles, []authorization.Route{strayRoute}},
	}
	for name, r := range cases {
		_, err := r.head.Snapshot(ownerPlace(), r.principals, r.handles, r.routes)
		if fault.KindOf(err) != fault.Internal || fault.SlugOf(err) != "snapshot_torn" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = w.tenant.Snapshot(ownerPlace(), w.principals, handles, w.routes)
	wantNone(t, err)
}

// Records that are newer than their head are found out also where what was revoked and what was added even out.
func TestTornSnapshotThatCountsRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.mustAdmit(authorization.Owner, 1), w.mustAdmit(authorization.Member, 1)
	head := authorization.RestoreTenant(w.tenant.Record())
	before := authorization.RestorePrincipal(b.Record())
	_, err := w.revoke(b, authorization.ByOperator("ada"))
	wantNone(t, err)
	wantNone(t, w.grant(a, 1))
	_, err = head.Snapshot(ownerPlace(), []*authorization.Principal{a, before}, w.allHandles(), w.routes)
	wantSlug(t, err, fault.Internal, "snapshot_torn")

	c := w.mustAdmit(authorization.Member, 0)
	handles := append(w.handles[id(a)], w.handles[id(c)]...)
	_, err = head.Snapshot(ownerPlace(), []*authorization.Principal{a, b, c}, handles, w.routes)
	wantSlug(t, err, fault.Internal, "snapshot_torn")

	owners := w.tenant.Record()
	owners.Owners++
	_, err = authorization.RestoreTenant(owners).Snapshot(ownerPlace(), w.principals, w.allHandles(), w.routes)
	wantSlug(t, err, fault.Internal, "snapshot_torn")
}

// The holder that asks with another generation than the present one is told (A2).
func TestCheckGeneration(t *testing.T) {
	t.Parallel()
	wantNone(t, authorization.CheckGeneration(4, 4))
	wantSlug(t, authorization.CheckGeneration(3, 4), fault.Conflict, "generation_stale")
	wantSlug(t, authorization.CheckGeneration(5, 4), fault.Conflict, "generation_ahead")
}
