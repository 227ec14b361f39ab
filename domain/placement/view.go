package placement

// ConnectionState is what a device registration says of its tenant (P13).
type ConnectionState string

// The connection states.
const (
	Ready           ConnectionState = "ready"
	Placing         ConnectionState = "placing"
	Migrating       ConnectionState = "migrating"
	NodeUnavailable ConnectionState = "node_unavailable"
	Suspended       ConnectionState = "suspended"
)

// Connection is P13: ready only while the placement is active or draining and its node is active and online. p is nil
// for a tenant that waits for a place; node is the one that holds it.
func Connection(suspended bool, p *Placement, node *Candidate) ConnectionState {
	switch {
	case suspended:
		return Suspended
	case p == nil:
		return Placing
	case !p.Writable():
		return Migrating
	case node == nil || !p.Holds(node.Node.r.ID) || node.Node.r.Status != NodeActive || !node.Lease.Live():
		return NodeUnavailable
	}
	return Ready
}

// Assignment is what a node is told of one tenant that concerns it.
type Assignment struct {
	Tenant     string
	Generation int64
	Version    int64
	State      State
	Role       Role
	Migration  *AssignedMigration
}

// AssignedMigration is the migration in flight, with what P3 reported once it is known.
type AssignedMigration struct {
	ID           string
	Phase        Phase
	Peer         string // the other node
	ManifestRoot string
	LastSequence int64
}

// AssignmentFor is the placement as the given node is told it; false for a stranger.
func (p *Placement) AssignmentFor(node string) (Assignment, bool) {
	role := p.RoleOf(node)
	if role == RoleStranger {
		return Assignment{}, false
	}
	a := Assignment{
		Tenant: p.r.Tenant, Generation: p.r.Generation, Version: p.r.Version, State: p.r.State, Role: role,
	}
	if p.r.Migration != "" {
		peer := p.r.Source
		if role == RoleSource {
			peer = p.r.Target
		}
		a.Migration = &AssignedMigration{
			ID: p.r.Migration, Phase: p.Phase(), Peer: peer, ManifestRoot: p.r.ManifestRoot, LastSequence: p.r.LastSequence,
		}
	}
	return a, true
}
