package authorization

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// TenantStatus is a tenant's standing as a whole (A1).
type TenantStatus string

// The statuses of a tenant, as API.md spells them.
const (
	TenantActive    TenantStatus = "active"
	TenantSuspended TenantStatus = "suspended" // nobody is admitted; rights are kept and can be revoked
	TenantClosed    TenantStatus = "closed"    // final
)

type statusEvent string

const (
	suspend statusEvent = "suspend"
	resume  statusEvent = "resume"
	shut    statusEvent = "close"
)

// statusEdges is the machine of a tenant's status; closed is final.
var statusEdges = []struct { //nolint:gochecknoglobals // the state machine
	from  TenantStatus
	event statusEvent
	to    TenantStatus
}{
	{TenantActive, suspend, TenantSuspended},
	{TenantSuspended, resume, TenantActive},

	{TenantActive, shut, TenantClosed},
	{TenantSuspended, shut, TenantClosed},
}

// Edge is one line of a state diagram.
type Edge struct{ From, Event, To string }

// Diagram is the state machine of a tenant's status.
func Diagram() []Edge {
	out := make([]Edge, 0, len(statusEdges))
	for _, e := range statusEdges {
		out = append(out, Edge{string(e.from), string(e.event), string(e.to)})
	}
	return out
}

// TenantRecord is what a store keeps of a tenant's authorization. The counters count what is active, so that limits and
// the last owner are decided without loading the rest; Owners are among Principals.
type TenantRecord struct {
	ID         string
	Status     TenantStatus
	Revision   int64 // 1 at creation; exactly one more with each change (A1)
	Floor      int64 // the lowest revision that a delta can start from (A3)
	Owners     int
	Principals int
	Handles    int
	Routes     int
	CreatedAt  time.Time
	ChangedAt  time.Time
}

// Tenant is the head of one tenant's authorization.
type Tenant struct{ r TenantRecord }

// MainRoute is the route that every tenant has from the start (A8).
const MainRoute = "main"

// NewTenant makes an active tenant at revision 1 and its main route, which belongs to that revision: no delta leads up
// to it. Fault: Invalid invalid_id.
func NewTenant(id string, now time.Time) (*Tenant, Route, error) {
	if err := fault.All(ident.Check("id", id)); err != nil {
		return nil, Route{}, err
	}
	at := ident.Instant(now)
	t := &Tenant{TenantRecord{
		ID: id, Status: TenantActive, Revision: 1, Floor: 1, Routes: 1, CreatedAt: at, ChangedAt: at,
	}}
	return t, Route{RouteRecord{Tenant: id, ID: MainRoute, CreatedAt: at}}, nil
}

// RestoreTenant is for stores.
func RestoreTenant(r TenantRecord) *Tenant { return &Tenant{r} }

// Record is the tenant's state, for stores and views.
func (t *Tenant) Record() TenantRecord { return t.r }

// ID names the tenant.
func (t *Tenant) ID() string { return t.r.ID }

// Status is the tenant's status.
func (t *Tenant) Status() TenantStatus { return t.r.Status }

// Revision is the present authorization revision.
func (t *Tenant) Revision() int64 { return t.r.Revision }

// Suspend denies everyone until Resume. Faults: Conflict tenant_status_conflict; Exhausted revision_exhausted.
func (t *Tenant) Suspend(now time.Time) ([]Change, error) { return t.step(suspend, now) }

// Resume ends a suspension. Faults: Conflict tenant_status_conflict; Exhausted revision_exhausted.
func (t *Tenant) Resume(now time.Time) ([]Change, error) { return t.step(resume, now) }

// Close denies everyone for good. Faults: Conflict tenant_status_conflict; Exhausted revision_exhausted.
func (t *Tenant) Close(now time.Time) ([]Change, error) { return t.step(shut, now) }

func (t *Tenant) step(e statusEvent, now time.Time) ([]Change, error) {
	for _, edge := range statusEdges {
		if edge.from == t.r.Status && edge.event == e {
			return t.move(edge.to, now)
		}
	}
	return nil, fault.New(fault.Conflict, "tenant_status_conflict", "a tenant that is %s has no step %q", t.r.Status, e)
}

func (t *Tenant) move(to TenantStatus, now time.Time) ([]Change, error) {
	if err := t.canChange(); err != nil {
		return nil, err
	}
	t.r.Status = to
	return t.commit(now, Change{Kind: ChangeStatus, Status: to}), nil
}

// Compact raises the floor so that deltas reach back over at most the last keep revisions, and returns it; a store then
// drops the changes up to and including it. It never lowers the floor, and is no change of the authorization.
func (t *Tenant) Compact(keep int) int64 {
	t.r.Floor = max(t.r.Floor, t.r.Revision-int64(max(keep, 0)))
	return t.r.Floor
}

// Lists says whether something revoked at the given revision is still told in snapshots. What was revoked at or below
// the floor is left out, so that snapshots stay bounded however many devices come and go; to a node unknown and
// revoked are both denied. Zero stands for what is not revoked.
func (t *Tenant) Lists(revokedRevision int64) bool {
	return revokedRevision == 0 || revokedRevision > t.r.Floor
}

// canChange refuses a change whose revision could not be told any more.
func (t *Tenant) canChange() error {
	if t.r.Revision >= ident.MaxCounter {
		return fault.New(fault.Exhausted, "revision_exhausted", "the authorization revision can not grow any more")
	}
	return nil
}

// canGrant refuses to give rights in a tenant that is not active.
func (t *Tenant) canGrant() error {
	switch t.r.Status {
	case TenantActive:
		return t.canChange()
	case TenantSuspended:
		return fault.New(fault.Conflict, "tenant_suspended", "the tenant is suspended").Curable("resume the tenant")
	case TenantClosed:
		return fault.New(fault.Conflict, "tenant_closed", "the tenant is closed")
	}
	return fault.New(fault.Internal, "tenant_status_unknown", "the tenant has the unknown status %q", t.r.Status)
}

// commit raises the revision by one and stamps the changes with it.
func (t *Tenant) commit(now time.Time, changes ...Change) []Change {
	t.r.Revision++
	t.r.ChangedAt = ident.Instant(now)
	for i := range changes {
		changes[i].Revision, changes[i].Part, changes[i].Parts = t.r.Revision, i+1, len(changes)
	}
	return changes
}
