package authorization

import "berth/domain/fault"

// ChangeKind says what a change is about.
type ChangeKind string

// The kinds of changes.
const (
	ChangeStatus    ChangeKind = "status"
	ChangePrincipal ChangeKind = "principal"
	ChangeRoute     ChangeKind = "route"
	ChangeHandle    ChangeKind = "handle"
)

// PrincipalView is what a node is told of a principal.
type PrincipalView struct {
	ID     string
	Kind   Kind
	Role   Role
	Status Status
}

// HandleView is what a node is told of a route handle.
type HandleView struct {
	SHA256    Digest
	Principal string
	Route     string
	Status    Status
}

// Change is one line of a tenant's change log: what something is from a revision on. A revision that changed several
// things has as many parts; (Revision, Part) is the key of a line and the order of the log.
type Change struct {
	Revision  int64
	Part      int // from 1
	Parts     int
	Kind      ChangeKind
	Status    TenantStatus  // of ChangeStatus
	Principal PrincipalView // of ChangePrincipal
	Route     string        // of ChangeRoute: its id
	Handle    HandleView    // of ChangeHandle
}

// Delta is what changed in (From, To]; with From equal to To it confirms that nothing did (A3).
type Delta struct {
	Tenant     string
	Generation int64 // of the placement that the node was found to hold
	From       int64
	To         int64
	Changes    []Change
}

// MaxDelta is the most changes that one delta carries. Whoever is further behind takes a full snapshot, and a store
// asked for MaxDelta+1 changes never cuts a delta short unnoticed.
const MaxDelta = 4096

// DeltaSince answers what changed after from, out of the change log from there on, as the node that holds the placement
// at the given generation is told it. Fault: Gone delta_unavailable when from is unknown or compacted, when the
// log is not whole, or when it is more than MaxDelta changes; the node then takes a full snapshot.
func DeltaSince(t *Tenant, generation, from int64, log []Change) (Delta, error) {
	d := Delta{Tenant: t.r.ID, Generation: generation, From: from, To: t.r.Revision, Changes: log}
	switch {
	case from > t.r.Revision:
		return Delta{}, errNoDelta("revision %d is not known", from)
	case from < t.r.Floor:
		return Delta{}, errNoDelta("the changes since revision %d are not kept any more", from)
	case len(log) > MaxDelta:
		return Delta{}, errNoDelta("more than %d things changed since revision %d", MaxDelta, from)
	case !d.whole():
		return Delta{}, errNoDelta("the changes since revision %d are not complete", from)
	}
	return d, nil
}

func errNoDelta(format string, args ...any) error {
	return fault.New(fault.Gone, "delta_unavailable", format, args...).Curable("take a full snapshot")
}

// whole says whether the changes are every part of every revision in (From, To], in order, and nothing else.
func (d Delta) whole() bool {
	revision, part, parts := d.From, 0, 0
	for _, c := range d.Changes {
		if part == parts {
			revision, part, parts = revision+1, 0, c.Parts
		}
		part++
		if c.Revision != revision || c.Part != part || c.Parts != parts {
			return false
		}
	}
	return revision == d.To && part == parts
}

// endStatus is the tenant's status after the delta, given the one before.
func (d Delta) endStatus(status TenantStatus) TenantStatus {
	for _, c := range d.Changes {
		if c.Kind == ChangeStatus {
			status = c.Status
		}
	}
	return status
}

// Revoked are the principals that the delta revokes, each with the revision that does.
func (d Delta) Revoked() Buried {
	var out Buried
	for _, c := range d.Changes {
		if c.Kind != ChangePrincipal || c.Principal.Status == Active {
			continue
		}
		if out == nil {
			out = Buried{}
		}
		out[c.Principal.ID] = c.Revision
	}
	return out
}
