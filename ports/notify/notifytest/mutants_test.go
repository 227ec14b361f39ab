package notifytest

import (
	"context"
	"sync"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/notify"
)

// A small true carrier passes every law, so what the mutants are caught at is their fault alone.
func TestModelPasses(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Subject { return subject(&model{}) })
}

// Each mutant is the model with one fault, and the law that forbids it notices.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	mutants := map[string]struct {
		law  string
		make func() *model
	}{
		"wakes the first subscription only": {"a hint reaches every subscription that names the topic",
			func() *model { return &model{firstOnly: true} }},
		"looks at the first topic only": {"a hint reaches every subscription that names the topic",
			func() *model { return &model{firstTopic: true} }},
		"wakes everybody": {"a hint for another topic wakes nobody",
			func() *model { return &model{match: func(notify.Topic, notify.Topic) bool { return true }} }},
		"matches by prefix": {"a hint for another topic wakes nobody",
			func() *model {
				return &model{match: func(a, b notify.Topic) bool { return len(a) <= len(b) && b[:len(a)] == a }}
			}},
		"queues every hint": {"hints that were not received are one hint",
			func() *model { return &model{queue: 2000} }},
		"wakes once in a life": {"a hint after a received one comes again",
			func() *model { return &model{once: true} }},
		"waits for the receiver": {"publishing never waits",
			func() *model { return &model{blocks: true} }},
		"ignores Close": {"a closed subscription stays quiet and leaves the others alone",
			func() *model { return &model{deaf: true} }},
		"closes the channel": {"a closed subscription stays quiet and leaves the others alone",
			func() *model { return &model{closesChannel: true} }},
		"lets everybody in": {"the number of subscriptions is bounded",
			func() *model { return &model{room: 1 << 20} }},
		"frees two places for two Closes": {"the number of subscriptions is bounded",
			func() *model { return &model{freesTwice: true} }},
		"never frees a place": {"the number of subscriptions is bounded",
			func() *model { return &model{deaf: true} }},
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, laws(), m.law, func(testing.TB) Subject {
				s := subject(m.make())
				s.patience = 200 * time.Millisecond
				return s
			})
		})
	}
}

func subject(m *model) Subject { return Subject{Publisher: m, Subscriber: m} }

// model is the plainest carrier there can be, with a switch for each fault.
type model struct {
	firstOnly, firstTopic, once, blocks, deaf, closesChannel, freesTwice bool

	match func(named, published notify.Topic) bool
	queue int
	room  int

	mu    sync.Mutex
	taken int
	subs  []*modelSubscription
}

type modelSubscription struct {
	m      *model
	topics []notify.Topic
	c      chan struct{}
	woken  bool
	closed bool
}

func (m *model) Subscribe(topics ...notify.Topic) (notify.Subscription, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.taken >= max(m.room, Room) {
		return nil, fault.New(fault.Exhausted, "too_many_waiters", "full")
	}
	m.taken++
	s := &modelSubscription{m: m, topics: topics, c: make(chan struct{}, max(m.queue, 1))}
	m.subs = append(m.subs, s)
	return s, nil
}

func (m *model) Publish(ctx context.Context, topics ...notify.Topic) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.firstTopic {
		topics = topics[:1]
	}
	for _, s := range m.subs {
		if s.concerns(topics) {
			s.wake(ctx)
			if m.firstOnly {
				return
			}
		}
	}
}

func (s *modelSubscription) concerns(topics []notify.Topic) bool {
	match := s.m.match
	if match == nil {
		match = func(a, b notify.Topic) bool { return a == b }
	}
	for _, named := range s.topics {
		for _, published := range topics {
			if match(named, published) {
				return !s.closed
			}
		}
	}
	return false
}

func (s *modelSubscription) wake(ctx context.Context) {
	if s.m.once && s.woken {
		return
	}
	s.woken = true
	if s.m.blocks {
		select {
		case s.c <- struct{}{}:
		case <-ctx.Done():
		}
		return
	}
	select {
	case s.c <- struct{}{}:
	default:
	}
}

func (s *modelSubscription) C() <-chan struct{} { return s.c }

func (s *modelSubscription) Close() {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.m.deaf || (s.closed && !s.m.freesTwice) {
		return
	}
	if s.m.closesChannel && !s.closed {
		close(s.c)
	}
	s.closed = true
	s.m.taken--
}
