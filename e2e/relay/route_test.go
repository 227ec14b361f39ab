package relay

import (
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// P15: a route carries the placement's version, by which a node tells a delayed answer from the present one.
func TestRouteCarriesItsVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var tenant contract.Tenant
	w.Operator("GET", "/api/v1/tenants/acme", nil, 200, &tenant)
	var route contract.Route
	harness.Decode(t, w.holder().Do("GET", "/tenants/acme/route", nil), 200, &route)
	if at := tenant.Placement; route.PlacementVersion != at.Version || route.Generation != at.Generation || route.Node != at.Node {
		t.Fatalf("the route is %+v, the placement %+v", route, at)
	}
}
