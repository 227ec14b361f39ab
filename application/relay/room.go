package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"berth/domain/fault"
	"berth/ports/engine"
)

// room is one tenant that devices use: from the first that came until nobody used it for a while.
type room struct {
	rooms  *rooms
	tenant string
	signal chan struct{} // something may be true by now that the opening waits for

	newcomers newcomers

	// These belong to rooms.mu.
	users   int
	used    time.Duration // when nobody used it any more
	closing chan struct{} // closed once the room is gone; nil while it is not taken out

	life chan struct{}       // holds one while the Engine is opened or closed
	hub  atomic.Pointer[hub] // nil while no Engine is open

	mu      sync.Mutex
	opening *opening    // nil while nobody opens it
	busy    atomic.Bool // somebody does
}

// opening is one try to open the Engine, for all who wait.
type opening struct {
	done chan struct{}
	hub  *hub
	err  error
}

// openPatience is how long a device waits at most for its tenant's Engine to open.
const openPatience = 5 * time.Second

// await waits for the Engine to be open.
func (m *room) await(ctx context.Context) (*hub, error) {
	if h := m.hub.Load(); h != nil {
		return h, nil
	}
	o := m.join()
	select {
	case <-o.done:
		return o.hub, o.err
	case <-ctx.Done():
		return nil, endedBy(ctx)
	}
}

// join finds the opening that is on its way, or begins one.
func (m *room) join() *opening {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opening != nil {
		return m.opening
	}
	o := &opening{done: make(chan struct{})}
	if o.hub = m.hub.Load(); o.hub != nil { // the one before came to its end meanwhile
		close(o.done)
		return o
	}
	m.busy.Store(true)
	if !m.rooms.spawn(func() { m.open(o) }) {
		m.busy.Store(false)
		o.err = errStopping()
		close(o.done)
		return o
	}
	m.opening = o
	return o
}

func (m *room) open(o *opening) {
	err := m.permitted(m.rooms.ctx)
	if err == nil {
		o.hub, err = m.start(m.rooms.ctx)
	}
	o.err = err
	m.mu.Lock()
	m.opening = nil
	m.busy.Store(false)
	m.mu.Unlock()
	close(o.done)
}

// permitted waits until the tenant may be read here: a snapshot of it is on its way.
func (m *room) permitted(ctx context.Context) error {
	n := m.rooms.Node
	n.queue.add(m.tenant, 0)
	timer := n.Clock.NewTimer(openPatience)
	defer timer.Stop()
	for {
		final, err := n.state.openable(m.tenant)
		if err == nil || final {
			return err
		}
		select {
		case <-m.signal:
		case <-timer.C():
			return err
		case <-ctx.Done():
			return errStopping()
		}
	}
}

// start opens the Engine, where that is still permitted by the time that nobody closes it.
func (m *room) start(ctx context.Context) (*hub, error) {
	r := m.rooms
	if err := r.reserve(); err != nil {
		return nil, err
	}
	m.life <- struct{}{}
	defer func() { <-m.life }()
	h, err := m.begin(ctx)
	if err != nil {
		r.freed()
		return nil, err
	}
	m.hub.Store(h)
	h.release = r.Gate().Guard(m.tenant, func(why error) {
		r.spawn(func() { m.shut(h, why) })
	})
	return h, nil
}

func (m *room) begin(ctx context.Context) (*hub, error) {
	r := m.rooms
	if _, err := r.state.openable(m.tenant); err != nil {
		return nil, err
	}
	e, err := r.Engines.Open(ctx, m.tenant)
	if err != nil {
		r.state.breaks(m.tenant, err)
		return nil, err
	}
	buried, err := e.Buried(ctx)
	if err != nil {
		_ = e.Close() // what it could not read says why
		r.state.breaks(m.tenant, err)
		return nil, err
	}
	r.state.bury(m.tenant, buried...)
	r.state.breaks(m.tenant, nil)
	return newHub(m, e), nil
}

// shut closes the Engine, if it is the one given or none is, and ends its sessions first.
func (m *room) shut(only *hub, why error) {
	m.life <- struct{}{}
	defer func() { <-m.life }()
	h := m.hub.Load()
	if h == nil || only != nil && h != only {
		return
	}
	m.hub.Store(nil)
	h.release()
	h.shut(why)
	if err := h.engine.Close(); err != nil {
		m.rooms.Log.Warn("an Engine did not close cleanly", "tenant", m.tenant, "error", err)
	}
	m.rooms.freed()
}

// changed has the opening look again, and ends the sessions that are permitted no more.
func (m *room) changed() {
	select {
	case m.signal <- struct{}{}:
	default:
	}
	if h := m.hub.Load(); h != nil {
		h.judge()
	}
}

// free says whether nobody uses the room, nor opens it. The caller holds rooms.mu.
func (m *room) free() bool { return m.users == 0 && m.closing == nil && !m.busy.Load() }

// sessions is how many there are, and whether the Engine is open.
func (m *room) sessions() (n int, open bool) {
	h := m.hub.Load()
	if h == nil {
		return 0, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions), true
}

func endedBy(ctx context.Context) error { return engine.Ended(context.Cause(ctx)) }

// interest begins to keep a tenant up to date that the node was told it holds. Fault: Unavailable not_holder.
func (s *state) interest(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[id]
	if t == nil || !t.holds(s.settings.Self.Node()) {
		if s.closed != nil {
			return s.closed
		}
		return errMoved()
	}
	t.open = true
	return nil
}

// lapse ends that. What was known of the tenant's authorization is no longer kept up to date, and forgotten.
func (s *state) lapse(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tenants[id]; t != nil {
		t.open = false
		t.forget()
	}
}

// openable says why a tenant's Engine can not be opened now, if so, and whether waiting a moment is of no use.
func (s *state) openable(id string) (final bool, why error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := s.read()
	t := s.tenants[id]
	switch {
	case s.closed != nil:
		return true, s.closed
	case t == nil || !t.holds(s.settings.Self.Node()):
		return true, errMoved()
	case t.failed != nil && fault.KindOf(t.failed) == fault.Internal:
		return true, t.failed
	}
	if _, err := s.judge(id, reading(), now); err != nil {
		if t.view != nil {
			if shut := t.view.Open(now.Elapsed); fault.KindOf(shut) == fault.Forbidden {
				return true, shut
			}
		}
		return false, err
	}
	if t.doubtful {
		return false, fault.New(fault.Unavailable, "copy_unknown", "what is on the disk is not known yet")
	}
	return false, nil
}

// bury remembers revocations that are committed.
func (s *state) bury(id string, all ...engine.Tombstone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenantOf(id)
	for _, one := range all {
		t.bury(one.Principal, one.Revision)
	}
}
