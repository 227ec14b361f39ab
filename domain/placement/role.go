package placement

// Phase is where a tenant stands in its life on a node: the placement's state, with the time before a migration
// quiesces told apart from plain activity, and the ends of a migration. The access table (I8) is indexed by it.
type Phase uint8

// The phases, in the order a migration passes them.
const (
	PhaseNone      Phase = iota // not placed: nothing is allowed
	PhaseActive                 // placed, no migration
	PhasePreparing              // placement active, a migration copies the base ahead
	PhaseQuiescing
	PhaseCopying
	PhaseSwitching
	PhaseDraining
	PhaseDone // of a migration that ended well
	PhaseAborted
	PhaseFailed
)

var phaseNames = [...]string{ //nolint:gochecknoglobals // an immutable table
	"none", "active", "preparing", "quiescing", "copying", "switching", "draining", "done", "aborted", "failed",
}

// String returns the phase as API.md spells it.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "none"
}

// Role is what a node is to a tenant (I8).
type Role uint8

// The roles. A node with no part in a placement is a stranger to it.
const (
	RoleStranger Role = iota
	RoleOwner         // holds the placement, no migration in flight
	RoleSource        // the node a migration moves the tenant away from
	RoleTarget        // the node a migration moves the tenant to
)

var roleNames = [...]string{"stranger", "owner", "source", "target"} //nolint:gochecknoglobals // an immutable table

// String returns the role as API.md spells it.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "stranger"
}
