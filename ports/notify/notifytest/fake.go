package notifytest

import (
	"context"
	"slices"
	"sync"

	"berth/domain/fault"
	"berth/ports/notify"
)

// Fake carries hints within a test, remembers them, and can lose them or have no room.
type Fake struct {
	mu        sync.Mutex
	published []notify.Topic
	subs      map[*fakeSub]bool
	deaf      bool
	full      bool
}

// NewFake is one with room for everybody that loses nothing.
func NewFake() *Fake { return &Fake{subs: map[*fakeSub]bool{}} }

// Publish is as notify.Publisher has it.
func (f *Fake) Publish(ctx context.Context, topics ...notify.Topic) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	f.published = append(f.published, topics...)
	for s := range f.subs {
		if !f.deaf && slices.ContainsFunc(topics, func(t notify.Topic) bool { return slices.Contains(s.topics, t) }) {
			select {
			case s.c <- struct{}{}:
			default:
			}
		}
	}
}

// Subscribe is as notify.Subscriber has it.
func (f *Fake) Subscribe(topics ...notify.Topic) (notify.Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full {
		return nil, fault.New(fault.Exhausted, "too_many_waiters", "too many wait")
	}
	s := &fakeSub{f: f, topics: topics, c: make(chan struct{}, 1)}
	f.subs[s] = true
	return s, nil
}

// LoseAll makes every hint from now on a lost one.
func (f *Fake) LoseAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deaf = true
}

// RefuseAll makes it have room for nobody from now on.
func (f *Fake) RefuseAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full = true
}

// Took returns what was published since the last call, sorted, each topic once.
func (f *Fake) Took() []notify.Topic {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.published)
	f.published = nil
	slices.Sort(out)
	return slices.Compact(out)
}

// Waiting is how many subscriptions there are.
func (f *Fake) Waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs)
}

type fakeSub struct {
	f      *Fake
	topics []notify.Topic
	c      chan struct{}
}

func (s *fakeSub) C() <-chan struct{} { return s.c }

func (s *fakeSub) Close() {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	delete(s.f.subs, s)
}
