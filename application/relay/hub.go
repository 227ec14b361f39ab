package relay

import (
	"sync"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/engine"
)

// hub is a tenant's open Engine with the sessions that use it.
type hub struct {
	room    *room
	node    *Node
	engine  engine.Engine
	release func() // of the guard

	mu       sync.Mutex
	over     error // why there are no sessions any more; nil while there may be
	sessions map[*Session]struct{}
	members  map[string]*member // by principal
	routes   map[string]*route
	pace     authorization.Pace
	kept     int    // bytes of messages in all rings
	woken    []Line // of a release before, to be used again
}

// member is one principal with all of its sessions.
type member struct {
	sessions int
	pace     authorization.Pace
}

func newHub(m *room, e engine.Engine) *hub {
	return &hub{
		room: m, node: m.rooms.Node, engine: e, sessions: map[*Session]struct{}{}, members: map[string]*member{},
		routes: map[string]*route{},
	}
}

// add takes a session in. Faults: Exhausted too_many_connections; Unavailable where the hub is shut.
func (h *hub) add(s *Session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		return h.over
	}
	m := h.members[s.device.Principal]
	if m == nil {
		m = &member{}
		h.members[s.device.Principal] = m
	}
	if m.sessions >= h.node.settings.ConnectionsPerPrincipal {
		return fault.New(fault.Exhausted, "too_many_connections", "the device has as many connections as it may have").
			Curable("close another connection of the device").After(time.Second)
	}
	m.sessions++
	s.member = m
	h.sessions[s] = struct{}{}
	return nil
}

// remove lets a session go, once.
func (h *hub) remove(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, is := h.sessions[s]; !is {
		return
	}
	delete(h.sessions, s)
	s.member.sessions--
	for _, sub := range s.subs {
		sub.drop()
	}
	s.subs = nil
}

// list are the sessions that there are now.
func (h *hub) list() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*Session, 0, len(h.sessions))
	for s := range h.sessions {
		out = append(out, s)
	}
	return out
}

// judge ends the sessions of whoever may not use the tenant any more.
func (h *hub) judge() {
	all := h.list()
	for s, why := range h.node.state.unadmitted(h.room.tenant, all) {
		s.finish(h.node.endOf(why, 1))
	}
}

// shut ends all sessions, and lets none in.
func (h *hub) shut(why error) {
	h.mu.Lock()
	h.over = why
	h.mu.Unlock()
	all := h.list()
	for _, s := range all {
		s.finish(h.node.endOf(why, len(all)))
	}
}

// failed is told of what the Engine refused by a defect or damage: it concerns this tenant alone, and ends its Engine.
func (h *hub) failed(err error) {
	if slug := fault.SlugOf(err); slug != "engine_damaged" && slug != "engine_failed" {
		return
	}
	h.node.state.breaks(h.room.tenant, err)
	h.node.rooms.spawn(func() { h.room.shut(h, err) })
}

// tidy forgets the principals of whom nothing has to be remembered.
func (h *hub) tidy(now time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, m := range h.members {
		if m.sessions == 0 && m.pace.Rested(now) {
			delete(h.members, id)
		}
	}
}

// admit counts one more message of a session. Faults: Exhausted rate_limited, publishes_in_flight; Unavailable where the
// session has ended.
func (h *hub) admit(s *Session, now time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, is := h.sessions[s]; !is {
		return errEnded()
	}
	if s.flying >= maxFlying {
		return fault.New(fault.Exhausted, "publishes_in_flight", "%d messages of the connection are not acknowledged yet", s.flying).
			After(10 * time.Millisecond)
	}
	wait := s.member.pace.Take(authorization.Rate(h.node.settings.PublishRate), now)
	if wait == 0 {
		wait = h.pace.Take(authorization.Rate(h.node.settings.TenantPublishRate), now)
	}
	if wait > 0 {
		return fault.New(fault.Exhausted, "rate_limited", "the device or its tenant publishes more than it may").After(wait)
	}
	s.flying++
	return nil
}

func (h *hub) landed(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.flying--
}

// maxFlying is how many messages of a session wait for their commit at a time.
const maxFlying = 256
