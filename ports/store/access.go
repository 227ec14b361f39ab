package store

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/placement"
)

// Tenants are the authorization heads of tenants, by id (A1).
type Tenants interface {
	Aggregate[*authorization.Tenant]
	List(ctx context.Context, p Page) ([]*authorization.Tenant, error)
}

// Principals are the devices of tenants, by their id, which is unique over all tenants.
type Principals interface {
	Aggregate[*authorization.Principal]
	OfTenant(ctx context.Context, tenant string, p Page) ([]*authorization.Principal, error)
}

// Handles are the route handles, by tenant and digest; the clear text is never stored (A8).
type Handles interface {
	// Add adds handles, all or none. Fault: AlreadyExists handle_exists.
	Add(ctx context.Context, hs []*authorization.Handle) error
	// Save writes handles that exist, all or none. Fault: NotFound handle_not_found.
	Save(ctx context.Context, hs []*authorization.Handle) error
	// OfPrincipal returns all handles of a principal, by digest.
	OfPrincipal(ctx context.Context, tenant, principal string) ([]*authorization.Handle, error)
	// OfTenant returns all handles of a tenant, by digest. Their number is bounded by authorization's limits.
	OfTenant(ctx context.Context, tenant string) ([]*authorization.Handle, error)
}

// Routes are a tenant's routes (A8).
type Routes interface {
	// Create adds a route. Fault: AlreadyExists route_exists.
	Create(ctx context.Context, r authorization.Route) error
	// Get returns a route. Fault: NotFound route_not_found.
	Get(ctx context.Context, tenant, id string) (authorization.Route, error)
	// OfTenant returns a tenant's routes, by id.
	OfTenant(ctx context.Context, tenant string, p Page) ([]authorization.Route, error)
}

// Changes are the log that deltas are answered from (A3).
type Changes interface {
	// Append adds changes. Fault: AlreadyExists change_exists for a part of a revision that the log holds.
	Append(ctx context.Context, tenant string, cs []authorization.Change) error
	// Since returns up to limit changes with a revision above from, by revision and part. The limit may fall within
	// a revision.
	Since(ctx context.Context, tenant string, from int64, limit int) ([]authorization.Change, error)
	// Drop forgets the changes up to and including floor.
	Drop(ctx context.Context, tenant string, floor int64) error
}

// Known is what a node believes of a tenant.
type Known struct {
	Tenant     string
	Generation int64
	Revision   int64
}

// Standing is where a tenant stands: its placement (nil while it waits) and its authorization head.
type Standing struct {
	Placement *placement.Placement
	Tenant    *authorization.Tenant
}

// As says whether the tenant stands as the node believes: held by it, at exactly this generation and revision.
func (s Standing) As(node string, k Known) bool {
	return s.Placement != nil && s.Placement.Holds(node) && s.Placement.Record().Generation == k.Generation &&
		s.Tenant.Revision() == k.Revision
}

// Pulse is of one node: two that are equal say that every tenant which the node holds, or which comes to it or leaves it
// in a migration, stands as it stood, at the same generation and revision. They say nothing of other tenants.
type Pulse struct {
	Origin string // of the database (Roles.Origin): numbers of another count for nothing
	Number int64
}

// Pulses tell cheaply that nothing changed for a node (A4). Concurrent calls may share one query; each sees what was
// committed before it was called. It is not for use within a transaction: Internal store_nested.
type Pulses interface {
	// Pulse returns the present pulse of a node; a node that nothing concerns, or that does not exist, has one, too. The
	// store raises it in each commit that writes the head or the placement of a tenant, for every node that the
	// placement names before or after.
	Pulse(ctx context.Context, node string) (Pulse, error)
}

// Standings answer batched polls (A4).
type Standings interface {
	// Differing returns, by tenant and each once, the standing of every known tenant but those that the node holds at
	// exactly the generation and revision it believes; a tenant named with several beliefs differs where one of them
	// does. Known tenants that do not exist come back as absent, by name and each once. This is a filter, not a rule:
	// the caller judges every standing that comes back.
	Differing(ctx context.Context, node string, known []Known) (differing []Standing, absent []string, err error)
	// Get returns one tenant's standing. Fault: NotFound tenant_not_found.
	Get(ctx context.Context, tenant string) (Standing, error)
}
