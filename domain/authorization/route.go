package authorization

import "time"

// RouteRecord is what a store keeps of a route.
type RouteRecord struct {
	Tenant    string
	ID        string // unique within the tenant
	CreatedAt time.Time
	CreatedBy string // "operator/<id>" or "principal/<id>"; empty for the main route
}

// Route is a durable stream of a tenant (A8). It never changes.
type Route struct{ r RouteRecord }

// RestoreRoute is for stores.
func RestoreRoute(r RouteRecord) Route { return Route{r} }

// Record is the route's state, for stores and views.
func (r Route) Record() RouteRecord { return r.r }
