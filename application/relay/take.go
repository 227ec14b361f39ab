package relay

import (
	"context"
	"sort"

	"berth/ports/engine"
)

// Take returns the next messages of all subscriptions, of about so many bytes by their Size, at least one where there is any; and
// whether there are more by now. Where there are none, Wake says when there are. What it returns is not to be changed.
func (s *Session) Take(ctx context.Context, bytes int) (messages []engine.Message, more bool, err error) {
	s.taking.Lock()
	defer s.taking.Unlock()
	if err := s.ended(); err != nil {
		return nil, false, err
	}
	if at := s.hub.node.state.device(s.device, reading()); at.err != nil {
		return nil, false, at.err
	}
	for _, sub := range s.inTurn() {
		if bytes <= 0 && len(messages) > 0 {
			more = true
			break
		}
		part, left, err := s.hub.take(ctx, sub, max(1, bytes))
		if err != nil {
			s.hub.failed(err)
			if len(messages) > 0 {
				return messages, true, nil
			}
			return nil, false, err
		}
		messages = append(messages, part...)
		bytes -= sizeOf(part)
		more = more || left
	}
	return messages, more, nil
}

// inTurn are the subscriptions, each time with another one first.
func (s *Session) inTurn() []*subscription {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	n := len(s.subs)
	if n == 0 {
		return nil
	}
	s.turn = (s.turn + 1) % n
	return append(append(make([]*subscription, 0, n), s.subs[s.turn:]...), s.subs[:s.turn]...)
}

func sizeOf(all []engine.Message) (bytes int) {
	for _, m := range all {
		bytes += m.Size()
	}
	return bytes
}

// take moves a subscription on. Where it has all that there is, it is parked before anything more is released, so that no
// wake-up is lost.
func (h *hub) take(ctx context.Context, sub *subscription, bytes int) (out []engine.Message, left bool, err error) {
	h.mu.Lock()
	r, after, upTo := sub.route, sub.cursor, sub.route.released
	switch {
	case sub.gone:
		h.mu.Unlock()
		return nil, false, nil
	case after >= upTo:
		sub.park()
		h.mu.Unlock()
		return nil, false, nil
	case len(r.ring) > 0 && r.ring[0].Seq <= after+1:
		out = fromRing(r.ring, after, bytes)
		left = h.moved(sub, out[len(out)-1].Seq)
		h.mu.Unlock()
		return out, left, nil
	}
	h.mu.Unlock()
	out, err = h.engine.Read(ctx, engine.Range{Route: r.id, After: after, UpTo: upTo, Bytes: bytes})
	if err == nil && !follows(out, after) { // no message that was released goes
		err = engine.Damaged("a route's messages", nil)
	}
	if err != nil {
		return nil, false, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if sub.gone {
		return nil, false, nil
	}
	return out, h.moved(sub, out[len(out)-1].Seq), nil
}

// follows says whether messages are the next ones after a sequence, of which there are some.
func follows(all []engine.Message, after int64) bool {
	for i, m := range all {
		if m.Seq != after+1+int64(i) {
			return false
		}
	}
	return len(all) > 0
}

// moved says whether there is more. The caller holds h.mu.
func (h *hub) moved(sub *subscription, to int64) bool {
	sub.cursor = to
	if sub.cursor < sub.route.released {
		return true
	}
	sub.park()
	return false
}

// fromRing copies what comes after a sequence that the ring reaches back to.
func fromRing(ring []engine.Message, after int64, bytes int) []engine.Message {
	from := sort.Search(len(ring), func(i int) bool { return ring[i].Seq > after })
	to := from
	for size := 0; to < len(ring) && (to == from || size+ring[to].Size() <= bytes); to++ {
		size += ring[to].Size()
	}
	return append([]engine.Message(nil), ring[from:to]...)
}
