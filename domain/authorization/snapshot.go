package authorization

import (
	"bytes"
	"cmp"
	"slices"

	"berth/domain/fault"
	"berth/domain/placement"
)

// Place is what the node that asks is to the tenant's placement, read in the same view of the primary as the rest.
type Place struct {
	Generation int64
	Version    int64 // P15
	LeaseEpoch int64 // of the asking node's lease (P8)
	Role       placement.Role
	Phase      placement.Phase
}

// Snapshot is all that a node is told of a tenant (A2). It holds digests only: no device token, no key.
type Snapshot struct {
	Tenant           string
	Generation       int64
	PlacementVersion int64
	LeaseEpoch       int64
	Revision         int64
	Status           TenantStatus
	Writable         bool            // whether the node may write at this generation (P8)
	Principals       []PrincipalView // by id
	Handles          []HandleView    // by digest
	Routes           []string        // by id
}

// CheckGeneration compares the generation that the holder asked with (A2). It is asked after the access table: only the
// holder is told the current one. Faults: Conflict generation_stale, generation_ahead; the latter says that the node
// was promised more than this control plane knows of.
func CheckGeneration(asked, current int64) error {
	switch {
	case asked < current:
		return fault.New(fault.Conflict, "generation_stale", "the placement is at generation %d", current).
			Curable("ask with generation %d", current)
	case asked > current:
		return fault.New(fault.Conflict, "generation_ahead", "the placement is at generation %d only", current).
			Curable("an operator finds out whether this control plane came back from an older backup")
	}
	return nil
}

// Snapshot assembles the tenant's snapshot, in a stable order, from all of its principals, handles and routes. What was
// revoked at or below the floor may be left out by the caller (Lists), and is left out here.
// Fault: Internal snapshot_torn when they are not what the head counts: they were not read in one view, or not wholly.
func (t *Tenant) Snapshot(at Place, principals []*Principal, handles []*Handle, routes []Route) (Snapshot, error) {
	s := Snapshot{
		Tenant: t.r.ID, Generation: at.Generation, PlacementVersion: at.Version, LeaseEpoch: at.LeaseEpoch,
		Revision: t.r.Revision, Status: t.r.Status,
		Writable:   t.r.Status == TenantActive && writes(at.Role, at.Phase),
		Principals: t.listPrincipals(principals), Handles: t.listHandles(handles), Routes: listRoutes(routes),
	}
	if !t.counts(s) || !t.owns(principals, handles, routes) {
		return Snapshot{}, fault.New(fault.Internal, "snapshot_torn", "the tenant's principals, handles and routes are not those of its head")
	}
	return s, nil
}

func (t *Tenant) listPrincipals(all []*Principal) []PrincipalView {
	out := make([]PrincipalView, 0, len(all))
	for _, p := range all {
		if t.Lists(p.r.RevokedRevision) {
			out = append(out, p.view())
		}
	}
	slices.SortFunc(out, func(a, b PrincipalView) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (t *Tenant) listHandles(all []*Handle) []HandleView {
	out := make([]HandleView, 0, len(all))
	for _, h := range all {
		if t.Lists(h.r.RevokedRevision) {
			out = append(out, h.view())
		}
	}
	slices.SortFunc(out, func(a, b HandleView) int { return bytes.Compare(a.SHA256[:], b.SHA256[:]) })
	return out
}

func listRoutes(all []Route) []string {
	out := make([]string, 0, len(all))
	for _, r := range all {
		out = append(out, r.r.ID)
	}
	slices.Sort(out)
	return out
}

// counts compares what is active with the head's counters.
func (t *Tenant) counts(s Snapshot) bool {
	owners, principals, handles := 0, 0, 0
	for _, p := range s.Principals {
		if p.Status == Active {
			principals++
			if p.Role == Owner {
				owners++
			}
		}
	}
	for _, h := range s.Handles {
		if h.Status == Active {
			handles++
		}
	}
	return owners == t.r.Owners && principals == t.r.Principals && handles == t.r.Handles && len(s.Routes) == t.r.Routes
}

// owns says whether everything is of this tenant and nothing is newer than the head.
func (t *Tenant) owns(principals []*Principal, handles []*Handle, routes []Route) bool {
	for _, p := range principals {
		if p.r.Tenant != t.r.ID || p.r.RevokedRevision > t.r.Revision {
			return false
		}
	}
	for _, h := range handles {
		if h.r.Tenant != t.r.ID || h.r.RevokedRevision > t.r.Revision {
			return false
		}
	}
	for _, r := range routes {
		if r.r.Tenant != t.r.ID {
			return false
		}
	}
	return true
}

// writes is P8: whether a node in this role may write while the placement is in this phase.
func writes(role placement.Role, phase placement.Phase) bool {
	switch role {
	case placement.RoleOwner:
		return phase == placement.PhaseActive
	case placement.RoleSource:
		return phase == placement.PhasePreparing
	case placement.RoleTarget:
		return phase == placement.PhaseDraining
	case placement.RoleStranger:
	}
	return false
}
