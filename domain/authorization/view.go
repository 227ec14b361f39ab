package authorization

import (
	"maps"
	"time"

	"berth/domain/fault"
)

// Position is how far a node's knowledge of a tenant goes. Each number only grows, and an answer that is lower in any
// of them is refused (A3, P15).
type Position struct {
	Generation       int64
	PlacementVersion int64
	LeaseEpoch       int64 // P8; zero where none was seen
	Revision         int64
}

func (p Position) atLeast(q Position) bool {
	return p.Generation >= q.Generation && p.PlacementVersion >= q.PlacementVersion && p.LeaseEpoch >= q.LeaseEpoch &&
		p.Revision >= q.Revision
}

// ViewConfig makes a view.
type ViewConfig struct {
	Tenant string
	Region string        // of the node: the audience that device tokens must name (A7)
	Bound  time.Duration // from this age on everyone is denied (A6)
	Mark   Position      // what the node remembers to have seen before; may be zero
	Buried Buried        // revocations that the node remembers; it may be nil
}

// Buried are revocations that a node knows to be committed before any snapshot or delta told it so: by principal, the
// revision that carries each.
type Buried map[string]int64

// View is what a node holds of a tenant's authorization, and decides by. It starts by denying everyone. Instants are
// readings of one monotonic clock that runs on while the machine is suspended. It is not safe for concurrent use.
type View struct {
	config     ViewConfig
	held       bool
	position   Position
	sentAt     time.Duration // when the request was sent whose answer confirmed all of this last
	status     TenantStatus
	writable   bool
	principals map[string]PrincipalView
	handles    map[Digest]HandleView
	routes     map[string]struct{}
	buried     Buried
}

// NewView makes a view that holds nothing yet.
func NewView(c ViewConfig) *View {
	return &View{config: c, position: c.Mark, buried: maps.Clone(c.Buried)}
}

// Bury denies a principal from now on, since a revocation at the revision given is known to be committed (A5). What is
// told later of that revision takes its place.
func (v *View) Bury(principal string, revision int64) {
	if v.held && revision <= v.position.Revision {
		return
	}
	if v.buried == nil {
		v.buried = Buried{}
	}
	v.buried[principal] = max(revision, v.buried[principal])
}

// Buried are those revocations that nothing that was told reaches yet.
func (v *View) Buried() Buried { return maps.Clone(v.buried) }

// dig forgets the revocations that what is held says by itself.
func (v *View) dig() {
	maps.DeleteFunc(v.buried, func(_ string, revision int64) bool { return revision <= v.position.Revision })
}

// Position is how far the view goes; the next delta is asked from its revision.
func (v *View) Position() Position { return v.position }

// Writable says whether the last snapshot named this node as the writer, and the tenant is active since. It is one part
// of the right to write (P8).
func (v *View) Writable() bool { return v.held && v.writable && v.status == TenantActive }

// Active says whether the tenant is active by what is held: nobody of a suspended one is served.
func (v *View) Active() bool { return v.held && v.status == TenantActive }

// SentAt is the instant from which the view's age counts; false while it holds nothing.
func (v *View) SentAt() (time.Duration, bool) { return v.sentAt, v.held }

// Install takes a full snapshot whose request was sent at the given instant. An answer that tells the same as what is
// held renews it; the age of a newer one counts from its own sending.
// Faults: Conflict answer_misdirected for another tenant's, answer_older.
func (v *View) Install(s Snapshot, sentAt time.Duration) error {
	if s.Tenant != v.config.Tenant {
		return errMisdirected()
	}
	next := Position{s.Generation, s.PlacementVersion, s.LeaseEpoch, s.Revision}
	if !next.atLeast(v.position) {
		return errOlder()
	}
	if v.held && next == v.position {
		sentAt = max(sentAt, v.sentAt)
	}
	v.held, v.position, v.sentAt = true, next, sentAt
	v.status, v.writable = s.Status, s.Writable
	v.fill(s)
	v.dig()
	return nil
}

func (v *View) fill(s Snapshot) {
	v.principals = make(map[string]PrincipalView, len(s.Principals))
	v.handles = make(map[Digest]HandleView, len(s.Handles))
	v.routes = make(map[string]struct{}, len(s.Routes))
	for _, p := range s.Principals {
		v.principals[p.ID] = p
	}
	for _, h := range s.Handles {
		v.handles[h.SHA256] = h
	}
	for _, id := range s.Routes {
		v.routes[id] = struct{}{}
	}
}

// Apply takes a delta whose request was sent at the given instant. It must start at exactly the revision that is held,
// at the same generation, and be whole; it renews the age from its own sending (A6). It says nothing of the placement
// but its generation: the right to write stays as the last snapshot gave it, under the lease of that snapshot. That is
// why a delta that resumes a tenant is refused: a snapshot of a suspended tenant gave none.
// Faults: Conflict answer_misdirected, answer_older; Gone delta_unavailable, after which a full snapshot is due.
func (v *View) Apply(d Delta, sentAt time.Duration) error {
	switch {
	case d.Tenant != v.config.Tenant:
		return errMisdirected()
	case d.Generation < v.position.Generation || d.To < v.position.Revision:
		return errOlder()
	case !v.held || d.Generation != v.position.Generation || d.From != v.position.Revision:
		return errNoDelta("the delta does not start at what is held")
	case !d.whole():
		return errNoDelta("the delta is not whole")
	case v.status != TenantActive && d.endStatus(v.status) == TenantActive:
		return errNoDelta("the tenant was resumed")
	}
	for _, c := range d.Changes {
		v.change(c)
	}
	v.position.Revision = d.To
	v.sentAt = max(v.sentAt, sentAt)
	v.dig()
	return nil
}

// Confirm takes the news that nothing changed: of a tenant that a batched poll named at this generation and revision,
// sent at the given instant, and whose answer left it out (A4). Faults as of Apply.
func (v *View) Confirm(generation, revision int64, sentAt time.Duration) error {
	return v.Apply(Delta{Tenant: v.config.Tenant, Generation: generation, From: revision, To: revision}, sentAt)
}

func (v *View) change(c Change) {
	switch c.Kind {
	case ChangeStatus:
		v.status = c.Status
	case ChangePrincipal:
		v.principals[c.Principal.ID] = c.Principal
	case ChangeHandle:
		v.handles[c.Handle.SHA256] = c.Handle
	case ChangeRoute:
		v.routes[c.Route] = struct{}{}
	}
}

func errMisdirected() error {
	return fault.New(fault.Conflict, "answer_misdirected", "the answer is about another tenant")
}

func errOlder() error {
	return fault.New(fault.Conflict, "answer_older", "the answer is older than what is held")
}
