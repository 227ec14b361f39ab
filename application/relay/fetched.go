package relay

import (
	"context"
	"sync"
	"time"
)

// fetched is something of the control plane's that the node asks for again and again, and believes for so long only. Its age
// counts from the question, never from the answer (A6).
type fetched[T any] struct {
	*Node
	what  string // for people
	every time.Duration
	fetch func(context.Context) (T, error)
	// took is called after each answer that was kept; it may be nil.
	took func()
	wake chan struct{}

	mu      sync.Mutex
	value   T
	held    bool
	askedAt time.Duration // when the value was asked for
	asking  bool
	asked   time.Duration // when the last question was asked, answered or not
	ever    bool          // there was one
	over    chan struct{} // closed with the end of the next question
}

func newFetched[T any](n *Node, what string, every time.Duration, fetch func(context.Context) (T, error)) *fetched[T] {
	return &fetched[T]{Node: n, what: what, every: every, fetch: fetch, wake: make(chan struct{}, 1), over: make(chan struct{})}
}

const (
	hurried  = time.Second     // how often at most a question is asked because of what somebody out there showed
	patience = 2 * time.Second // and how long that somebody waits for its end
)

// run asks until the context ends.
func (f *fetched[T]) run(ctx context.Context) {
	var tries backoff
	for f.identified(ctx) {
		sent := f.begin()
		timed, cancel := context.WithTimeout(ctx, requestTimeout)
		value, err := f.fetch(timed)
		cancel()
		f.end(value, err, sent)
		if err != nil {
			if !f.failed(ctx, f.what, err, sent, &tries) {
				return
			}
			continue
		}
		tries = backoff{}
		if !f.pause(ctx, f.chance.within(f.every), f.wake) {
			return
		}
	}
}

func (f *fetched[T]) begin() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asking, f.asked, f.ever = true, f.Clock.Elapsed(), true
	select {
	case <-f.wake: // whoever hurried is served by this one
	default:
	}
	return f.asked
}

func (f *fetched[T]) end(value T, err error, sent time.Duration) {
	f.mu.Lock()
	f.asking = false
	if err == nil {
		f.value, f.held, f.askedAt = value, true, sent
	}
	over := f.over
	f.over = make(chan struct{})
	f.mu.Unlock()
	if err == nil && f.took != nil {
		f.took() // before anybody who waits goes on
	}
	close(over)
}

// get is the value, and how old it is.
func (f *fetched[T]) get() (value T, age time.Duration, held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value, f.Clock.Elapsed() - f.askedAt, f.held
}

// hurry has the question asked again because the value lacks something that may be newer, and waits for its end, though not
// for ever. It is false where the last question is too young for another one, and where nobody asks.
func (f *fetched[T]) hurry(ctx context.Context) bool {
	f.mu.Lock()
	over := f.over
	if !f.asking {
		if !f.ever || f.Clock.Elapsed()-f.asked < hurried {
			f.mu.Unlock()
			return false
		}
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
	f.mu.Unlock()
	timer := f.Clock.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C():
	case <-ctx.Done():
	}
	return false
}
