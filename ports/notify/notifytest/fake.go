package notifytest

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"berth/domain/fault"
	"berth/ports/notify"
)

// Fake carries hints within a test, remembers them, and can lose them or have no room.
type Fake struct {
	mu        sync.Mutex
	published []notify.Topic
	subs      map[*fakeSub]bool
	deaf      bool
	room      int
	woken     int
}

var (
	_ notify.Publisher  = (*Fake)(nil)
	_ notify.Subscriber = (*Fake)(nil)
	_ notify.Waker      = (*Fake)(nil)
)

// NewFake is one with room for everybody that loses nothing.
func NewFake() *Fake { return &Fake{subs: map[*fakeSub]bool{}, room: math.MaxInt} }

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
			s.wake()
		}
	}
}

// WakeAll is as notify.Waker has it, but that it wakes everybody at once, however long it may take.
func (f *Fake) WakeAll(ctx context.Context, _ time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	f.woken++
	for s := range f.subs {
		if !f.deaf && len(s.topics) > 0 {
			s.wake()
		}
	}
}

// Subscribe is as notify.Subscriber has it.
func (f *Fake) Subscribe(topics ...notify.Topic) (notify.Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.subs) >= f.room {
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
	f.room = 0
}

// Admit makes it have room for so many subscriptions.
func (f *Fake) Admit(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room = n
}

// Woken is how often everybody was woken.
func (f *Fake) Woken() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.woken
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

func (s *fakeSub) wake() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}

func (s *fakeSub) Close() {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	delete(s.f.subs, s)
}
