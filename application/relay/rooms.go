package relay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"berth/domain/fault"
)

// rooms are the tenants that devices use, or used a moment ago (A4, R1). A tenant without a room is not asked about, and
// nothing of it is open.
type rooms struct {
	*Node
	ctx      context.Context // of what opens Engines
	end      context.CancelFunc
	sessions atomic.Int64
	crowd    atomic.Int64   // sessions when it was looked last: those that end at once come back at once
	work     sync.WaitGroup // what runs for rooms

	mu      sync.Mutex
	all     map[string]*room
	engines int   // that are open, or about to be
	over    error // why no room is made any more; nil while rooms are
	drain   drain
}

func newRooms(n *Node) *rooms {
	r := &rooms{Node: n, all: map[string]*room{}}
	r.ctx, r.end = context.WithCancel(context.Background())
	return r
}

const sweepEvery = time.Second

// run looks after rooms and sessions until the context ends; then it closes all of them.
func (r *rooms) run(ctx context.Context) {
	for r.pause(ctx, sweepEvery, nil) {
		r.sweep()
	}
	r.close()
}

// enter takes a place in a tenant's room, and waits until its Engine is open. The place is given back by leave.
func (r *rooms) enter(ctx context.Context, tenant string) (*room, *hub, error) {
	m, err := r.place(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	h, err := m.await(ctx)
	if err != nil {
		r.leave(m)
		return nil, nil, err
	}
	return m, h, nil
}

// place finds or makes a room, and counts one more who uses it.
func (r *rooms) place(ctx context.Context, tenant string) (*room, error) {
	for {
		m, closing, err := r.find(tenant)
		if closing == nil {
			return m, err
		}
		select {
		case <-closing:
		case <-ctx.Done():
			return nil, endedBy(ctx)
		}
	}
}

func (r *rooms) find(tenant string) (m *room, closing <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over != nil {
		return nil, nil, r.over
	}
	m = r.all[tenant]
	if m == nil {
		if err := r.state.interest(tenant); err != nil {
			return nil, nil, err
		}
		m = &room{rooms: r, tenant: tenant, signal: make(chan struct{}, 1), life: make(chan struct{}, 1)}
		r.all[tenant] = m
	}
	if m.closing != nil {
		return nil, m.closing, nil
	}
	m.users++
	return m, nil, nil
}

// leave gives a place back.
func (r *rooms) leave(m *room) {
	now := r.Clock.Elapsed()
	r.mu.Lock()
	defer r.mu.Unlock()
	m.users--
	m.used = now
}

// spawn runs something for a room, and says whether it does: not once the node has ended.
func (r *rooms) spawn(do func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over != nil {
		return false
	}
	r.work.Go(do)
	return true
}

// reserve counts one more open Engine. Where there are as many as there may be, the room that nobody uses, and nobody used for
// longest, gives way. Fault: Exhausted engines_exhausted.
func (r *rooms) reserve() error {
	for {
		r.mu.Lock()
		if r.engines < r.settings.MaxEngines {
			r.engines++
			r.mu.Unlock()
			return nil
		}
		oldest := r.oldest()
		r.mu.Unlock()
		if oldest == nil {
			return fault.New(fault.Exhausted, "engines_exhausted", "as many tenants are open on this node as there may be").
				After(time.Second + r.chance.upTo(4*time.Second))
		}
		r.finish(oldest)
	}
}

// oldest takes out the room to close next; nil where all are in use. The caller holds the lock.
func (r *rooms) oldest() *room {
	var oldest *room
	for _, m := range r.all {
		if m.free() && m.hub.Load() != nil && (oldest == nil || m.used < oldest.used) {
			oldest = m
		}
	}
	if oldest != nil {
		oldest.closing = make(chan struct{})
	}
	return oldest
}

func (r *rooms) freed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engines--
}

// finish closes a room that was taken out: nobody uses it, and nobody is let in until it is gone.
func (r *rooms) finish(m *room) {
	m.shut(nil, errIdle())
	r.mu.Lock()
	r.state.lapse(m.tenant)
	delete(r.all, m.tenant)
	close(m.closing)
	r.mu.Unlock()
	r.news.tell()
}

// changed tells a room that something else may be true of its tenant.
func (r *rooms) changed(tenant string) {
	if m := r.of(tenant); m != nil {
		m.changed()
	}
}

// shut closes a tenant's Engine and ends its sessions, and returns when that is so. Whoever calls has seen to it that the gate
// denies reading: until it permits it again, nothing is opened.
func (r *rooms) shut(tenant string, why error) {
	if m := r.of(tenant); m != nil {
		m.shut(nil, why)
	}
}

func (r *rooms) of(tenant string) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[tenant]
}

func (r *rooms) list() []*room {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*room, 0, len(r.all))
	for _, m := range r.all {
		out = append(out, m)
	}
	return out
}

// count is how many rooms there are, and how many of them have an open Engine, or one that is being opened.
func (r *rooms) count() (rooms, engines int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all), r.engines
}

// close ends every session and closes every Engine, for good.
func (r *rooms) close() {
	r.Node.close(errStopping())
	why := r.state.closedBy()
	r.mu.Lock()
	r.over = why
	r.mu.Unlock()
	r.end()
	hands := make(chan struct{}, r.settings.Parallel)
	var all sync.WaitGroup
	for _, m := range r.list() {
		hands <- struct{}{}
		all.Go(func() {
			defer func() { <-hands }()
			m.shut(nil, why)
		})
	}
	all.Wait()
	r.work.Wait()
}

func errIdle() error {
	return fault.New(fault.Unavailable, "engine_closed", "nobody used the tenant for a while").After(time.Second)
}

func errMoved() error {
	return fault.New(fault.Unavailable, "not_holder", "the tenant is served by another node").After(time.Second)
}
