package access_test

import (
	"context"
	"slices"
	"sync"

	"berth/domain/fault"
	"berth/ports/notify"
)

// hints carries hints within a test, remembers them, and can lose them or have no room.
type hints struct {
	mu        sync.Mutex
	published []notify.Topic
	subs      map[*sub]bool
	deaf      bool // every hint is lost
	full      bool // nobody may wait
}

func newHints() *hints { return &hints{subs: map[*sub]bool{}} }

func (h *hints) Publish(ctx context.Context, topics ...notify.Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	h.published = append(h.published, topics...)
	for s := range h.subs {
		if !h.deaf && slices.ContainsFunc(topics, func(t notify.Topic) bool { return slices.Contains(s.topics, t) }) {
			select {
			case s.c <- struct{}{}:
			default:
			}
		}
	}
}

func (h *hints) Subscribe(topics ...notify.Topic) (notify.Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.full {
		return nil, fault.New(fault.Exhausted, "too_many_waiters", "too many wait")
	}
	s := &sub{h: h, topics: topics, c: make(chan struct{}, 1)}
	h.subs[s] = true
	return s, nil
}

// took returns what was published since the last call, sorted, each topic once.
func (h *hints) took() []notify.Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := slices.Clone(h.published)
	h.published = nil
	slices.Sort(out)
	return slices.Compact(out)
}

func (h *hints) set(change func(*hints)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

func (h *hints) waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)
}

type sub struct {
	h      *hints
	topics []notify.Topic
	c      chan struct{}
}

func (s *sub) C() <-chan struct{} { return s.c }

func (s *sub) Close() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	delete(s.h.subs, s)
}
