package authorization_test

import (
	"testing"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// A revocation that is known to be committed denies at once, and until what is told reaches its revision: then that decides,
// and nothing is remembered any more (A5).
func TestBuriedAreDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, other := w.mustAdmit(authorization.Member, 1), w.mustAdmit(authorization.Owner, 1)
	v := installed(t, w, 0)
	before := v.Position().Revision
	done, err := w.revoke(gone, authorization.ByOperator("ada"))
	wantNone(t, err)

	v.Bury(id(gone), done.Revision)
	v.Bury(id(gone), 1) // a lower one takes nothing back
	wantSlug(t, v.Admits(id(gone), time.Second), fault.Forbidden, "principal_revoked")
	wantNone(t, v.Admits(id(other), time.Second))
	wantNone(t, v.Confirm(1, before, time.Second))
	wantSlug(t, v.Admits(id(gone), time.Second), fault.Forbidden, "principal_revoked")
	if v.Buried()[id(gone)] != done.Revision {
		t.Errorf("buried are %v", v.Buried())
	}

	again := authorization.NewView(authorization.ViewConfig{Tenant: tenantID, Region: regionID, Bound: bound, Buried: v.Buried()})
	old := w.snapshot(ownerPlace())
	old.Revision = before
	for i := range old.Principals {
		old.Principals[i].Status = authorization.Active
	}
	wantNone(t, again.Install(old, 0))
	wantSlug(t, again.Admits(id(gone), time.Second), fault.Forbidden, "principal_revoked")

	d, err := authorization.DeltaSince(w.tenant, 1, before, w.since(before))
	wantNone(t, err)
	wantNone(t, v.Apply(d, 2*time.Second))
	wantSlug(t, v.Admits(id(gone), 2*time.Second), fault.Forbidden, "principal_revoked")
	wantNone(t, again.Install(w.snapshot(ownerPlace()), 2*time.Second))
	if len(v.Buried()) != 0 || len(again.Buried()) != 0 {
		t.Errorf("still buried are %v and %v", v.Buried(), again.Buried())
	}
	v.Bury(id(other), done.Revision) // the view is that far, and says otherwise
	wantNone(t, v.Admits(id(other), 2*time.Second))
}

// Only an active owner of an active tenant revokes on a node (A5).
func TestOwns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, member := w.mustAdmit(authorization.Owner, 0), w.mustAdmit(authorization.Member, 0)
	v := installed(t, w, 0)
	wantNone(t, v.Owns(id(owner), 0))
	wantSlug(t, v.Owns(id(member), 0), fault.Forbidden, "revoke_not_allowed")
	wantSlug(t, v.Owns("prn_none", 0), fault.Forbidden, "principal_unknown")
	wantSlug(t, v.Owns(id(owner), bound), fault.Unavailable, "authorization_stale")
	v.Bury(id(owner), 99)
	wantSlug(t, v.Owns(id(owner), 0), fault.Forbidden, "principal_revoked")
}

// A delta says whom it revokes, and of which revision.
func TestRevokedByADelta(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone := w.mustAdmit(authorization.Member, 1)
	before := w.tenant.Revision()
	if d, err := authorization.DeltaSince(w.tenant, 1, 1, w.since(1)); err != nil || len(d.Revoked()) != 0 {
		t.Errorf("revoked are %v: %v", d.Revoked(), err)
	}
	done, err := w.revoke(gone, authorization.ByOperator("ada"))
	wantNone(t, err)
	d, err := authorization.DeltaSince(w.tenant, 1, before, w.since(before))
	wantNone(t, err)
	if got := d.Revoked(); len(got) != 1 || got[id(gone)] != done.Revision {
		t.Errorf("revoked are %v", got)
	}
}
