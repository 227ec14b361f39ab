package placement

import (
	"slices"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// PurgeState is the state of a purge (P14).
type PurgeState uint8

// The states of a purge.
const (
	PurgeScheduled PurgeState = iota // within its grace period
	PurgeDeleting                    // nodes and store delete and attest; there is no way back
	PurgeDone
	PurgeCancelled
)

var purgeStateNames = [...]string{"scheduled", "deleting", "done", "cancelled"} //nolint:gochecknoglobals // an immutable table

// String returns the state's name.
func (s PurgeState) String() string {
	if int(s) < len(purgeStateNames) {
		return purgeStateNames[s]
	}
	return "unknown"
}

type purgeEvent uint8

const (
	purgeDue purgeEvent = iota
	purgeAttested
	purgeCancel
)

var purgeEventNames = [...]string{"grace over", "all attested", "cancel"} //nolint:gochecknoglobals // an immutable table

var purgeEdges = []struct { //nolint:gochecknoglobals // the state machine
	from  PurgeState
	event purgeEvent
	to    PurgeState
}{
	{PurgeScheduled, purgeDue, PurgeDeleting},
	{PurgeDeleting, purgeAttested, PurgeDone},
	{PurgeScheduled, purgeCancel, PurgeCancelled},
}

// PurgeDiagram is the machine of a purge.
func PurgeDiagram() []Edge {
	var out []Edge
	for _, e := range purgeEdges {
		out = append(out, Edge{e.from.String(), purgeEventNames[e.event], e.to.String()})
	}
	return out
}

// PurgeRecord is what a store keeps of a purge.
type PurgeRecord struct {
	ID          string
	Tenant      string
	State       PurgeState
	RequestedAt time.Time
	DueAt       time.Time
	EndedAt     time.Time
	Awaiting    []string // holders (nodes, and "store" for the backup store) that have not attested
}

// Purge deletes a tenant's data everywhere and proves it (P14).
type Purge struct{ r PurgeRecord }

// RestorePurge is for stores.
func RestorePurge(r PurgeRecord) *Purge {
	r.Awaiting = slices.Clone(r.Awaiting)
	return &Purge{r}
}

// Record is the purge's state.
func (u *Purge) Record() PurgeRecord {
	r := u.r
	r.Awaiting = slices.Clone(r.Awaiting)
	return r
}

// SchedulePurge starts the grace period. holders are those who have to attest, each counted once. A tenant in migration
// is not purged. Faults: Conflict migration_in_flight; Invalid invalid_grace, invalid_text.
func SchedulePurge(id string, p *Placement, holders []string, grace time.Duration, now time.Time) (*Purge, error) {
	if p.r.Migration != "" {
		return nil, inFlight(p)
	}
	if err := fault.All(dated(now), text("id", id, 1, 64)); err != nil {
		return nil, err
	}
	awaiting := slices.Compact(slices.Sorted(slices.Values(holders)))
	if grace <= 0 || len(awaiting) == 0 || awaiting[0] == "" {
		return nil, fault.New(fault.Invalid, "invalid_grace", "a purge has a grace period and somebody who holds data")
	}
	at := ident.Instant(now)
	return &Purge{PurgeRecord{
		ID: id, Tenant: p.r.Tenant, RequestedAt: at, DueAt: ident.Instant(at.Add(grace)), Awaiting: awaiting,
	}}, nil
}

func (u *Purge) step(e purgeEvent, now time.Time) error {
	if err := dated(now); err != nil {
		return err
	}
	for _, edge := range purgeEdges {
		if edge.from == u.r.State && edge.event == e {
			u.r.State = edge.to
			if edge.to == PurgeDone || edge.to == PurgeCancelled {
				u.r.EndedAt = ident.Instant(now)
			}
			return nil
		}
	}
	return fault.New(fault.Conflict, "purge_state_conflict", "a purge that is %s has no step %q", u.r.State, purgeEventNames[e])
}

// Start begins the deletion once the grace period is over. Fault: Conflict grace_not_over.
func (u *Purge) Start(now time.Time) error {
	if now.Before(u.r.DueAt) {
		return fault.New(fault.Conflict, "grace_not_over", "the purge starts at %s", u.r.DueAt.Format(time.RFC3339))
	}
	return u.step(purgeDue, now)
}

// Cancel ends a purge within its grace period; after it there is no way back.
func (u *Purge) Cancel(now time.Time) error { return u.step(purgeCancel, now) }

// Attest takes a holder's word that nothing of the tenant is left with it; the last one ends the purge. Repeating it
// changes nothing.
func (u *Purge) Attest(holder string, now time.Time) error {
	if u.r.State != PurgeDeleting && u.r.State != PurgeDone {
		return u.step(purgeAttested, now)
	}
	left := slices.DeleteFunc(slices.Clone(u.r.Awaiting), func(h string) bool { return h == holder })
	if len(left) == 0 && u.r.State == PurgeDeleting {
		if err := u.step(purgeAttested, now); err != nil {
			return err
		}
	}
	u.r.Awaiting = left
	return nil
}
