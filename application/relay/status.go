package relay

import (
	"cmp"
	"slices"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
)

// Status is how the node stands at one instant, for people and metrics. It permits nothing.
type Status struct {
	Node, Region, Version string
	BootID, StorageID     string
	Generation            int64 // heartbeat generation; 0 before the first registration
	Sequence              int64 // of the last beat
	Registered            bool
	NodeStatus            string // as the control plane has it
	LeaseEpoch            int64
	LeaseLeft             time.Duration // 0 where the lease is over
	Identity              Identity
	Skew                  time.Duration // of the control plane's clock, ahead of this machine's
	AssignmentsVersion    int64
	Waiting               int // tenants in the queue
	Guarded               int // what is open and closed when its tenant may not be read any more
	Rooms                 int // tenants that devices use, or used a moment ago: those that are kept up to date
	Engines               int // of them that are open
	Sessions              int
	Why                   error // why nothing is served; nil where something may be
}

// Ready says whether the node is one that its load balancer may send devices to: registered, with a lease that runs.
func (s Status) Ready() bool { return s.Why == nil && s.Registered && s.LeaseLeft > 0 }

// TenantStatus is how one tenant stands that concerns the node.
type TenantStatus struct {
	Tenant      string
	Role        placement.Role
	State       placement.State
	Migration   string // its id; empty for none
	Generation  int64
	Version     int64         // P15
	Revision    int64         // of the authorization; 0 where no snapshot is held
	SnapshotAge time.Duration // negative where no snapshot is held
	Copy        placement.Copy
	Write       error // why it may not be written; nil where it may
	Read        error
	Failed      error // what went wrong with it last; nil where nothing did
	Used        bool  // devices use it, or did a moment ago: it is kept up to date
	Engine      bool  // its Engine is open
	Sessions    int
}

// Status looks at the node.
func (n *Node) Status() Status {
	identity := n.keeper.status()
	rooms, engines := n.rooms.count()
	s := n.state
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := s.read()
	out := Status{
		Node: s.settings.Self.Node(), Region: s.settings.Self.Region(), Version: s.settings.Version, BootID: s.boot,
		StorageID: s.storage, Generation: s.generation, Sequence: s.sequence, Registered: s.generation > 0, NodeStatus: s.status,
		LeaseEpoch: s.granted.Epoch, Identity: identity, Skew: s.skew, AssignmentsVersion: s.version, Waiting: n.queue.waiting(),
		Guarded: len(s.guarded), Why: s.why(now), Rooms: rooms, Engines: engines, Sessions: int(n.rooms.sessions.Load()),
	}
	if s.granted.Alive(now.Elapsed) {
		out.LeaseLeft = s.granted.SentAt + s.granted.For - now.Elapsed
	}
	return out
}

// Tenants looks at every tenant that concerns the node, in the order of their ids.
func (n *Node) Tenants() []TenantStatus {
	out := n.state.tenantStatuses()
	for i := range out {
		if m := n.rooms.of(out[i].Tenant); m != nil {
			out[i].Sessions, out[i].Engine = m.sessions()
		}
	}
	slices.SortFunc(out, func(a, b TenantStatus) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return out
}

func (s *state) tenantStatuses() []TenantStatus {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := s.read()
	out := make([]TenantStatus, 0, len(s.tenants))
	for id, t := range s.tenants {
		if t.told != nil {
			out = append(out, s.tenantStatus(id, t, now))
		}
	}
	return out
}

// why nothing is served. The caller holds the lock.
func (s *state) why(now placement.Clocks) error {
	if err := s.usable(now); err != nil {
		return err
	}
	switch {
	case s.granted.Alive(now.Elapsed):
		return nil
	case s.refused != nil:
		return s.refused
	case s.generation == 0:
		return fault.New(fault.Unavailable, "not_registered", "the node has not registered yet")
	}
	return fault.New(fault.Unavailable, "lease_run_out", "the node lease ran out")
}

func (s *state) tenantStatus(id string, t *tenant, now placement.Clocks) TenantStatus {
	out := TenantStatus{
		Tenant: id, Role: t.told.Role, State: t.told.State, Generation: t.told.Generation, Version: t.told.Version, Copy: t.copy,
		Failed: cmp.Or(t.broken, t.failed), SnapshotAge: -1, Used: t.open,
	}
	if t.told.Migration != nil {
		out.Migration = t.told.Migration.ID
	}
	if t.view != nil {
		out.Revision = t.view.Position().Revision
		if at, ok := t.view.SentAt(); ok {
			out.SnapshotAge = now.Elapsed - at
		}
	}
	_, out.Write = s.judge(id, writing(), now)
	_, out.Read = s.judge(id, reading(), now)
	return out
}
