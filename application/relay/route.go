package relay

import (
	"context"
	"sync"

	"berth/ports/engine"
)

// route is what is delivered of one route. A message is released once P8 was checked again after its commit; nothing that
// is not released is read.
type route struct {
	id     string
	load   sync.Mutex // held while loaded is found out
	loaded bool       // what was committed before the Engine was opened counts as released

	// These belong to hub.mu.
	released int64
	ring     []engine.Message // the latest, without a gap, to the released one
	bytes    int              // of the ring's bodies
	subs     int
	parked   subscription // a ring of those that took all there is; a place of its own that names no session
}

// The most that is held of messages, so that whoever keeps up needs no reading from the disk.
const (
	ringMessages = 256
	ringBytes    = 512 << 10 // of a tenant
)

// subscription is how far a session has taken the messages of a route. It belongs to hub.mu.
type subscription struct {
	session    *Session
	route      *route
	digest     [32]byte // of the handle
	cursor     int64
	gone       bool
	prev, next *subscription // while it is parked
}

// routeOf finds a route, as it is after the first look at it since the Engine was opened. That look comes before anything is
// appended to the route: what was committed before is released, and what comes after is once it was checked.
func (h *hub) routeOf(ctx context.Context, id string) (*route, error) {
	h.mu.Lock()
	r := h.routes[id]
	if r == nil {
		r = &route{id: id}
		r.parked.prev, r.parked.next = &r.parked, &r.parked
		h.routes[id] = r
	}
	h.mu.Unlock()
	r.load.Lock()
	defer r.load.Unlock()
	if r.loaded {
		return r, nil
	}
	head, err := h.engine.Head(ctx, id)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	r.released = head
	h.mu.Unlock()
	r.loaded = true
	return r, nil
}

// deliver releases a message, and wakes whoever waits for it. One that was released before wakes nobody.
func (h *hub) deliver(r *route, m engine.Message, before bool) {
	h.mu.Lock()
	if m.Seq <= r.released {
		h.mu.Unlock()
		return
	}
	r.released = m.Seq
	h.keep(r, m, before)
	woken := h.woken[:0]
	h.woken = nil
	for s := r.parked.next; s != &r.parked; s = r.parked.next {
		s.unpark()
		woken = append(woken, s.session.line)
	}
	h.mu.Unlock()
	for i, l := range woken {
		l.Wake()
		woken[i] = nil
	}
	h.mu.Lock()
	h.woken = woken
	h.mu.Unlock()
}

// keep puts a message into the ring. Of one that was there before, not all that lies in between is known.
func (h *hub) keep(r *route, m engine.Message, before bool) {
	if n := len(r.ring); before || r.subs == 0 || n > 0 && r.ring[n-1].Seq+1 != m.Seq {
		h.drop(r, len(r.ring))
	}
	if before || r.subs == 0 {
		return
	}
	r.ring = append(r.ring, m)
	r.bytes += len(m.Body)
	h.kept += len(m.Body)
	over := max(0, len(r.ring)-ringMessages)
	for kept := h.kept; kept > ringBytes && over < len(r.ring); over++ {
		kept -= len(r.ring[over].Body)
	}
	h.drop(r, over)
}

// drop forgets the first messages of a ring.
func (h *hub) drop(r *route, n int) {
	for i := range n {
		h.kept -= len(r.ring[i].Body)
		r.bytes -= len(r.ring[i].Body)
		r.ring[i] = engine.Message{}
	}
	if r.ring = r.ring[n:]; len(r.ring) == 0 {
		r.ring = nil
	}
}

// park has a subscription woken by the next message of its route.
func (s *subscription) park() {
	if s.next != nil || s.gone {
		return
	}
	last := s.route.parked.prev
	s.prev, s.next = last, &s.route.parked
	last.next, s.route.parked.prev = s, s
}

func (s *subscription) unpark() {
	if s.next == nil {
		return
	}
	s.prev.next, s.next.prev = s.next, s.prev
	s.prev, s.next = nil, nil
}

// drop ends the subscription.
func (s *subscription) drop() {
	s.unpark()
	if !s.gone {
		s.gone = true
		s.route.subs--
	}
}
