package relay

import (
	"time"

	"berth/domain/fault"
)

// sweep does what the passing of time asks for: it ends the sessions whose token expired, and closes what nobody uses.
func (r *rooms) sweep() {
	now, wall := r.Clock.Elapsed(), r.keeper.now()
	ended := r.verifier.ended(wall)
	r.crowd.Store(r.sessions.Load())
	all := r.list()
	share := r.drainShare(now)
	for _, m := range all {
		if h := m.hub.Load(); h != nil {
			h.tidy(now)
			h.expire(wall, ended)
			h.drain(share)
		}
	}
	for _, m := range r.unused(now) {
		r.finish(m)
	}
}

// unused takes out the rooms that nobody used for a while, and those of tenants that the node does not hold any more.
func (r *rooms) unused(now time.Duration) (out []*room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.all {
		if m.free() && (now-m.used >= r.settings.EngineIdle || !r.state.holder(m.tenant)) {
			m.closing = make(chan struct{})
			out = append(out, m)
		}
	}
	return out
}

func (s *state) holder(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tenants[id]
	return t != nil && t.holds(s.settings.Self.Node())
}

// expire ends the sessions whose token's time is over, or whose token's key is: of those there may be all at once.
func (h *hub) expire(wall time.Time, ended func(key string) bool) {
	for _, s := range h.list() {
		switch token := s.token.Load(); {
		case !wall.Before(token.ExpiresAt):
			s.finish(h.node.endOf(errExpired(), 1))
		case ended(token.Key):
			e := h.node.endOf(errKeyEnded(), 1)
			e.Retry = h.node.retry(Overload, int(h.node.rooms.crowd.Load()))
			s.finish(e)
		}
	}
}

// drain is how a node that is being emptied sends its devices away: those that were there when it began, over a time.
type drain struct {
	began time.Duration
	is    bool
}

// share is which part of the sessions of before an instant is to end now.
type share struct {
	before time.Duration
	part   float64
}

func (r *rooms) drainShare(now time.Duration) share {
	r.state.mu.RLock()
	draining := r.state.status == "draining"
	r.state.mu.RUnlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !draining:
		r.drain = drain{}
		return share{}
	case !r.drain.is:
		r.drain = drain{began: now, is: true}
	}
	left := r.drain.began + r.settings.DrainSpread - now
	return share{r.drain.began, min(1, sweepEvery.Seconds()/max(left, time.Millisecond).Seconds())}
}

func (h *hub) drain(share share) {
	if share.part == 0 {
		return
	}
	why := fault.New(fault.Unavailable, "node_draining", "the node is being emptied")
	for _, s := range h.list() {
		if s.entered < share.before && h.node.chance.upTo(time.Second) < time.Duration(share.part*float64(time.Second)) {
			s.finish(End{Reason: Draining, Err: why, Retry: h.node.retry(Draining, 1)})
		}
	}
}
