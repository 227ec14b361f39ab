package relay

import (
	"sync"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/placement"
	"berth/ports/clock"
	"berth/ports/engine"
)

// state is everything that the node's answers rest on. What it permits is never kept: it is asked for anew each time.
type state struct {
	settings Settings
	clock    clock.Clock

	mu         sync.RWMutex
	closed     error // why nothing is served, whatever else is true; nil while nothing speaks against it
	lost       error // why the node's certificate is not accepted; nil while it is
	granted    placement.Granted
	watch      placement.ClockWatch
	tenants    map[string]*tenant
	guarded    map[*guard]struct{}
	boot       string
	storage    string
	generation int64 // heartbeat generation; 0 before the first registration
	sequence   int64
	version    int64 // of the assignments
	status     string
	skew       time.Duration // of the control plane's wall clock, ahead of this one
	refused    error         // why the control plane does not take this process as the node; nil while it does
	serving    bool          // what was told of the lease last
	strange    bool          // another process may hold a lease of this node, on a copy of the disk
	registered time.Duration // since when no beat but those of this process is taken
}

// tenant is one tenant of which something is known. Only those that were told concern the node.
type tenant struct {
	told     *placement.Assignment // nil where the node has no part in it
	seen     engine.Seen
	held     placement.Held
	open     bool // devices use it, or did a moment ago: it is kept up to date (A4)
	view     *authorization.View
	known    mark
	copy     placement.Copy // as it is on the disk
	fencing  bool           // its fence is on the way to the disk
	doubtful bool           // the copy may be another on the disk: a change of it failed, or an earlier process made one
	refresh  time.Duration  // when the snapshot is to be taken anew
	stale    bool           // it is to be taken anew at once
	failed   error          // what went wrong last with what was to be done; for people
	broken   error          // what went wrong with its Engine last; nil where it opened since
}

// mark is what is remembered of an authorization that is not held any more: nothing lower is accepted (A3).
type mark struct {
	revision int64
	buried   authorization.Buried
}

func newState(s Settings, c clock.Clock) *state {
	return &state{
		settings: s, clock: c, watch: placement.ClockWatch{Bound: s.ClockBound}, tenants: map[string]*tenant{},
		guarded: map[*guard]struct{}{},
	}
}

// read is one reading of both clocks.
func (s *state) read() placement.Clocks {
	elapsed := s.clock.Elapsed()
	return placement.Clocks{Wall: ident.Instant(s.clock.Now()), Elapsed: elapsed}
}

func (s *state) warrant(t *tenant) placement.Warrant {
	c := t.copy
	c.Fenced = c.Fenced || t.fencing
	return placement.Warrant{
		Self: s.settings.Self.Node(), Held: t.held, Granted: s.granted, Copy: c, Bound: s.settings.Bound,
	}
}

// use is what a question is about: what the warrant says of it, and whether the tenant has to be one that is written.
type use struct {
	check  func(placement.Warrant, time.Duration) error
	writes bool
}

func reading() use { return use{placement.Warrant.CheckRead, false} }

func writing() use { return use{placement.Warrant.Check, true} }

func acknowledging(generation int64) use {
	return use{func(w placement.Warrant, now time.Duration) error { return w.Recheck(generation, now) }, true}
}

// judge answers a question as of a reading of the clocks. The caller holds the lock, and read the clocks under it.
func (s *state) judge(id string, u use, now placement.Clocks) (generation int64, err error) {
	if err := s.usable(now); err != nil {
		return 0, err
	}
	t := s.tenants[id]
	switch {
	case t == nil || t.told == nil:
		return 0, fault.New(fault.Unavailable, "not_holder", "the tenant does not concern this node")
	case !t.open && t.holds(s.settings.Self.Node()):
		return 0, fault.New(fault.Unavailable, "engine_closed", "the tenant is not open here")
	}
	switch err := u.check(s.warrant(t), now.Elapsed); {
	case err != nil:
		return 0, err
	case t.view == nil || !t.view.Active():
		return 0, fault.New(fault.Unavailable, "tenant_not_active", "the tenant is suspended or closed")
	case u.writes && !t.view.Writable():
		return 0, fault.New(fault.Unavailable, "not_holder", "the last snapshot does not name this node as the writer")
	}
	return t.held.Generation, nil
}

// usable says why nothing at all is served, if so.
func (s *state) usable(now placement.Clocks) error {
	switch {
	case s.closed != nil:
		return s.closed
	case s.lost != nil:
		return s.lost
	case s.strange:
		return fault.New(fault.Unavailable, "storage_moved",
			"the data directory is not where it was used last, or was used elsewhere since: a lease of before may still run there")
	}
	if gap, jumped := s.watch.Jump(now); jumped {
		return fault.New(fault.Unavailable, "clock_jumped", "the clock jumped by %v, so that nobody knows what the lease is worth",
			gap.Round(time.Millisecond))
	}
	return nil
}

// tenantOf finds or makes what is known of a tenant. The caller holds the lock.
func (s *state) tenantOf(id string) *tenant {
	t := s.tenants[id]
	if t == nil {
		t = &tenant{seen: engine.Seen{Tenant: id}}
		s.tenants[id] = t
	}
	return t
}

// forget lets go of what a tenant was held by. The caller holds the lock.
func (t *tenant) forget() {
	t.held = placement.Held{Generation: t.seen.Generation, Version: t.seen.Version}
	if t.view != nil {
		t.known = mark{t.view.Position().Revision, t.view.Buried()}
	}
	t.view, t.stale = nil, true
}

// bury remembers that a principal was revoked, before anything that is told says so. The caller holds the lock.
func (t *tenant) bury(principal string, revision int64) {
	if t.view != nil {
		t.view.Bury(principal, revision)
		return
	}
	if t.known.buried == nil {
		t.known.buried = authorization.Buried{}
	}
	t.known.buried[principal] = max(revision, t.known.buried[principal])
}

// distrust ends the lease and the trust in every snapshot, and in every answer that was asked for before now. The caller
// holds the lock.
func (s *state) distrust(now time.Duration) {
	s.watch.Distrust(now)
	s.granted = placement.Granted{}
	for _, t := range s.tenants {
		t.held.LeaseEpoch, t.stale = 0, true
	}
}
