// Package inprocess carries change hints within one process. It is enough where one berthd serves alone; replicas that
// share a database need an adapter that reaches the others.
package inprocess

import (
	"context"
	"slices"
	"sync"

	"berth/domain/fault"
	"berth/ports/notify"
)

// Limits bounds what waiters may cost. A field that is not positive lets nobody in.
type Limits struct {
	Subscriptions int // at most so many at a time
	Topics        int // at most so many topics named by all subscriptions together
}

// Hub is a notify.Publisher and a notify.Subscriber. Publishing costs time for the subscribers of the topic, not for
// all. It starts no goroutine. Use New.
type Hub struct {
	limits Limits

	mu            sync.RWMutex
	subscriptions map[*subscription]struct{}
	topics        int
	byTopic       map[notify.Topic]map[*subscription]struct{}
}

var (
	_ notify.Publisher  = (*Hub)(nil)
	_ notify.Subscriber = (*Hub)(nil)
	_ notify.Waker      = (*Hub)(nil)
)

// New returns a hub without subscribers.
func New(limits Limits) *Hub {
	return &Hub{
		limits: limits, subscriptions: map[*subscription]struct{}{},
		byTopic: map[notify.Topic]map[*subscription]struct{}{},
	}
}

// Publish wakes the subscribers of the topics. Within the process no hint is lost, whatever the context says.
func (h *Hub) Publish(_ context.Context, topics ...notify.Topic) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, topic := range topics {
		for s := range h.byTopic[topic] {
			s.wake()
		}
	}
}

// Subscribe starts a subscription, or refuses with Exhausted too_many_waiters.
func (h *Hub) Subscribe(topics ...notify.Topic) (notify.Subscription, error) {
	named := slices.Clone(topics)
	slices.Sort(named)
	named = slices.Compact(named)
	s := &subscription{hub: h, topics: named, c: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.subscriptions) >= h.limits.Subscriptions || h.topics+len(named) > h.limits.Topics {
		return nil, fault.New(fault.Exhausted, "too_many_waiters", "too many requests are waiting for changes already").
			Curable("ask again without waiting")
	}
	h.subscriptions[s] = struct{}{}
	h.topics += len(named)
	for _, topic := range named {
		if h.byTopic[topic] == nil {
			h.byTopic[topic] = map[*subscription]struct{}{}
		}
		h.byTopic[topic][s] = struct{}{}
	}
	return s, nil
}

// Waiting returns how many subscriptions there are, for a gauge.
func (h *Hub) Waiting() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.subscriptions)
}

func (h *Hub) drop(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subscriptions, s)
	h.topics -= len(s.topics)
	for _, topic := range s.topics {
		delete(h.byTopic[topic], s)
		if len(h.byTopic[topic]) == 0 {
			delete(h.byTopic, topic)
		}
	}
}

type subscription struct {
	hub    *Hub
	topics []notify.Topic
	c      chan struct{}
	once   sync.Once
}

func (s *subscription) C() <-chan struct{} { return s.c }

func (s *subscription) Close() { s.once.Do(func() { s.hub.drop(s) }) }

func (s *subscription) wake() {
	select {
	case s.c <- struct{}{}:
	default: // one hint is waiting already, and one says all
	}
}
