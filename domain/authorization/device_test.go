package authorization_test

import (
	"testing"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// Each part of A7 that a view decides refuses on its own, with its own slug.
func TestCheckDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	phone, other, gone := w.mustAdmit(authorization.Owner, 1), w.mustAdmit(authorization.Member, 1), w.mustAdmit(authorization.Member, 1)
	_, err := w.revoke(gone, authorization.ByOperator("ada"))
	wantNone(t, err)
	v := installed(t, w, 0)
	digest := func(p *authorization.Principal) authorization.Digest { return w.handles[id(p)][0].Record().Digest }
	claims := authorization.Claims{Tenant: tenantID, Region: regionID, Principal: id(phone)}

	p, h, err := authorization.CheckDevice(v, claims, digest(phone), time.Second)
	wantNone(t, err)
	if p.ID != id(phone) || p.Role != authorization.Owner || h.Route != "main" || h.SHA256 != digest(phone) {
		t.Errorf("the device is %+v with %+v", p, h)
	}

	with := func(change func(*authorization.Claims)) authorization.Claims {
		c := claims
		change(&c)
		return c
	}
	cases := map[string]struct {
		claims authorization.Claims
		handle authorization.Digest
		now    time.Duration
		kind   fault.Kind
		slug   string
	}{
		"another tenant": {
			with(func(c *authorization.Claims) { c.Tenant = "rival" }), digest(phone), 0, fault.Unauthenticated, "audience_mismatch",
		},
		"another region": {
			with(func(c *authorization.Claims) { c.Region = "us" }), digest(phone), 0, fault.Unauthenticated, "audience_mismatch",
		},
		"no region": {
			with(func(c *authorization.Claims) { c.Region = "" }), digest(phone), 0, fault.Unauthenticated, "audience_mismatch",
		},
		"an unknown device": {
			with(func(c *authorization.Claims) { c.Principal = "prn_9" }), digest(phone), 0, fault.Forbidden, "principal_unknown",
		},
		"a revoked device": {
			with(func(c *authorization.Claims) { c.Principal = id(gone) }), digest(gone), 0, fault.Forbidden, "principal_revoked",
		},
		"another's handle": {claims, digest(other), 0, fault.Forbidden, "handle_refused"},
		"a revoked handle": {claims, digest(gone), 0, fault.Forbidden, "handle_refused"},
		"no such handle":   {claims, digestOf(999), 0, fault.Forbidden, "handle_refused"},
		"too late":         {claims, digest(phone), bound, fault.Unavailable, "authorization_stale"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := authorization.CheckDevice(v, c.claims, c.handle, c.now)
			wantSlug(t, err, c.kind, c.slug)
		})
	}
}

// A status that this program does not know admits nobody.
func TestUnknownStatusDenies(t *testing.T) {
	t.Parallel()
	v := newView(authorization.Position{})
	wantNone(t, v.Install(authorization.Snapshot{
		Tenant: tenantID, Status: "frozen", Writable: true,
		Principals: []authorization.PrincipalView{{ID: "prn_1", Status: authorization.Active}, {ID: "prn_2"}},
	}, 0))
	wantSlug(t, v.Admits("prn_1", 0), fault.Forbidden, "tenant_closed")
	if v.Writable() {
		t.Error("a tenant of unknown status is writable")
	}
}

// A principal or handle without a status that this program knows is not in force.
func TestUnknownStandingDenies(t *testing.T) {
	t.Parallel()
	v := newView(authorization.Position{})
	wantNone(t, v.Install(authorization.Snapshot{
		Tenant: tenantID, Status: authorization.TenantActive,
		Principals: []authorization.PrincipalView{{ID: "prn_1", Status: authorization.Active}, {ID: "prn_2"}},
		Handles:    []authorization.HandleView{{SHA256: digestOf(1), Principal: "prn_1", Route: "main"}},
	}, 0))
	wantSlug(t, v.Admits("prn_2", 0), fault.Forbidden, "principal_revoked")
	_, _, err := authorization.CheckDevice(v,
		authorization.Claims{Tenant: tenantID, Region: regionID, Principal: "prn_1"}, digestOf(1), 0)
	wantSlug(t, err, fault.Forbidden, "handle_refused")
}
