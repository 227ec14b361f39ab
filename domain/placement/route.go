package placement

import (
	"time"

	"berth/domain/fault"
)

// Route is where a tenant's connections go, as one node believes it (R3). It is no permission: whoever holds the tenant
// judges that for itself (P8).
type Route struct {
	Tenant     string
	Node       string // the holder of the placement
	Generation int64
	Version    int64  // of the placement (P15)
	Address    string // host:port of the node's listener for peers; empty where it has none
	SPIFFEID   string // that its certificate must name
}

// CheckAddress accepts nothing, and what a peer can dial: host:port. Fault: Invalid invalid_address, invalid_text.
func CheckAddress(field, address string) *fault.Error { return hostPort(field, address) }

// Routing is what a node knows of one tenant's route. Its zero value knows nothing.
type Routing struct {
	route   Route
	held    bool
	askedAt time.Duration
}

// Learn takes an answer whose request was sent at the monotonic instant given. It never lets what is known become older: a
// lower version or generation is refused, and so is another place at the version that is known, as a placement does not
// move without its version growing (P15). An answer that confirms renews the life from its own sending, and only so (A6).
// Faults: Conflict route_older; Internal route_contradicts.
func (r *Routing) Learn(next Route, askedAt time.Duration) error {
	known := r.route
	switch {
	case !r.held:
	case next.Version < known.Version, next.Generation < known.Generation:
		return fault.New(fault.Conflict, "route_older", "the route is of version %d and generation %d; version %d and generation %d are known",
			next.Version, next.Generation, known.Version, known.Generation)
	case next.Version == known.Version && (next.Node != known.Node || next.Generation != known.Generation):
		return fault.New(fault.Internal, "route_contradicts", "two nodes or generations are told of version %d", next.Version)
	case next.Version == known.Version && askedAt <= r.askedAt:
		return nil // it says nothing new, and its address may be an older one
	}
	r.route, r.held, r.askedAt = next, true, askedAt
	return nil
}

// Route is the route that is known, however old.
func (r *Routing) Route() (Route, bool) { return r.route, r.held }

// Alive returns the route while it is younger than its life, counted from when it was asked for. An instant before that
// was read from another clock, and nothing is alive then.
func (r *Routing) Alive(now, life time.Duration) (Route, bool) {
	age := now - r.askedAt
	return r.route, r.held && age >= 0 && age < life
}

// Beyond says whether what is known went on from a route that was tried: then a refusal of that one says nothing of it.
func (r *Routing) Beyond(tried Route) bool { return r.held && r.route.Version > tried.Version }
