package authorization_test

import (
	"testing"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// Admitting makes the principal and its handles one change of the tenant (A1).
func TestAdmit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.mustAdmit(authorization.Owner, 2)
	head := w.tenant.Record()
	if head.Revision != 2 || head.Owners != 1 || head.Principals != 1 || head.Handles != 2 || p.Record().Handles != 2 {
		t.Errorf("the head is %+v, the principal %+v", head, p.Record())
	}
	kinds := []authorization.ChangeKind{authorization.ChangePrincipal, authorization.ChangeHandle, authorization.ChangeHandle}
	if len(w.log) != len(kinds) {
		t.Fatalf("the changes are %+v", w.log)
	}
	checkParts(t, w.log, 2)
	for i, c := range w.log {
		if c.Kind != kinds[i] {
			t.Errorf("change %d is %+v", i, c)
		}
	}
}

// Nobody is admitted to, and nothing is granted in, a tenant that is suspended or closed.
func TestNoGrantsUnlessActive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.mustAdmit(authorization.Owner, 0)
	refuse := func(slug string) {
		t.Helper()
		_, err := w.admit(authorization.Member, 0)
		wantSlug(t, err, fault.Conflict, slug)
		wantSlug(t, w.grant(p, 1), fault.Conflict, slug)
		wantSlug(t, w.addRoute(authorization.ByOperator("ada")), fault.Conflict, slug)
	}
	wantNone(t, w.status(w.tenant.Suspend))
	refuse("tenant_suspended")
	wantNone(t, w.status(w.tenant.Resume))
	wantNone(t, w.grant(p, 1))
	wantNone(t, w.status(w.tenant.Close))
	refuse("tenant_closed")

	odd := w.tenant.Record()
	odd.Status = "frozen"
	w.tenant = authorization.RestoreTenant(odd)
	wantSlug(t, w.grant(p, 1), fault.Internal, "tenant_status_unknown")
}

// Each limit refuses one too many, names a cure, and counts only what is active.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.limits = authorization.Limits{Principals: 2, Routes: 2, Handles: 4, PrincipalHandles: 3}
	a, b := w.mustAdmit(authorization.Owner, 3), w.mustAdmit(authorization.Member, 1)
	wantNone(t, w.addRoute(authorization.ByOperator("ada")))

	_, tooMany := w.admit(authorization.Member, 0)
	refusals := map[string]error{
		"principals_exhausted": tooMany, "principal_handles_exhausted": w.grant(a, 1), "handles_exhausted": w.grant(b, 1),
		"routes_exhausted": w.addRoute(authorization.ByOwner(a)),
	}
	for slug, err := range refusals {
		wantSlug(t, err, fault.Exhausted, slug)
		if f, _ := fault.As(err); f.Cure == "" {
			t.Errorf("%s names no cure", slug)
		}
	}
	_, err := w.revoke(a, authorization.ByOperator("ada"))
	wantNone(t, err)
	w.mustAdmit(authorization.Member, 3)
}

// What can be granted at once and what can be revoked at once fits in one delta.
func TestDefaultLimitsFitDeltas(t *testing.T) {
	t.Parallel()
	if l := authorization.DefaultLimits(); l.PrincipalHandles+1 > authorization.MaxDelta || l.Handles < l.Principals {
		t.Errorf("the default limits are %+v", l)
	}
}

// Routes are made by operators and active owners (A8).
func TestWhoMakesRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, member, gone := w.mustAdmit(authorization.Owner, 0), w.mustAdmit(authorization.Member, 0), w.mustAdmit(authorization.Owner, 0)
	_, err := w.revoke(gone, authorization.ByOperator("ada"))
	wantNone(t, err)
	for _, by := range []authorization.Requester{authorization.ByOwner(member), authorization.ByOwner(gone), authorization.ByNode(nil), {}} {
		wantSlug(t, w.addRoute(by), fault.Forbidden, "route_not_allowed")
	}
	for _, by := range []authorization.Requester{authorization.ByOperator("ada"), authorization.ByOwner(owner), authorization.ByNode(owner)} {
		wantNone(t, w.addRoute(by))
	}
	if made := w.routes[2].Record(); made.CreatedBy != "principal/"+id(owner) || made.Tenant != tenantID {
		t.Errorf("the route is %+v", made)
	}
	_, _, err = w.tenant.AddRoute("No Route", authorization.ByOperator("ada"), w.limits, dawn)
	wantSlug(t, err, fault.Invalid, "invalid_id")
}

// What does not belong together is not granted: another tenant's principal, a revoked one, another's handles.
func TestGrantMismatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.mustAdmit(authorization.Member, 1), w.mustAdmit(authorization.Member, 0)
	other := authorization.RestorePrincipal(authorization.PrincipalRecord{Tenant: "rival", ID: "prn_9", Status: authorization.Active})

	_, err := w.tenant.Admit(other, nil, w.limits, dawn)
	wantSlug(t, err, fault.NotFound, "principal_not_found")
	_, err = w.tenant.Grant(a, w.handlesFor(b, 1), w.limits, dawn)
	wantSlug(t, err, fault.Internal, "handle_mismatch")
	_, err = authorization.NewHandle(digestOf(1), other, w.routes[0], dawn)
	wantSlug(t, err, fault.NotFound, "route_not_found")

	_, err = w.revoke(a, authorization.ByOperator("ada"))
	wantNone(t, err)
	wantSlug(t, w.grant(a, 1), fault.Conflict, "principal_revoked")
	_, err = w.tenant.Grant(b, w.handles[id(a)], w.limits, dawn)
	wantSlug(t, err, fault.Internal, "handle_mismatch")

	ended := w.handlesFor(b, 1)[0].Record()
	ended.Status = authorization.Revoked
	_, err = w.tenant.Grant(b, []*authorization.Handle{authorization.RestoreHandle(ended)}, w.limits, dawn)
	wantSlug(t, err, fault.Internal, "handle_mismatch")

	head := w.tenant.Record()
	wantNone(t, w.grant(b, 0))
	if w.tenant.Record() != head {
		t.Error("a grant of nothing changed the tenant")
	}
}
