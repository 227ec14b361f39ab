package authorization

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
)

// Held is what the view holds, in the form in which it was told.
func (v *View) Held() Snapshot {
	p := v.position
	return Snapshot{
		Tenant: v.config.Tenant, Generation: p.Generation, PlacementVersion: p.PlacementVersion, LeaseEpoch: p.LeaseEpoch,
		Revision: p.Revision, Status: v.status, Writable: v.Writable(),
		Principals: slices.SortedFunc(maps.Values(v.principals), func(a, b PrincipalView) int { return cmp.Compare(a.ID, b.ID) }),
		Handles: slices.SortedFunc(maps.Values(v.handles), func(a, b HandleView) int {
			return bytes.Compare(a.SHA256[:], b.SHA256[:])
		}),
		Routes: slices.Sorted(maps.Keys(v.routes)),
	}
}
