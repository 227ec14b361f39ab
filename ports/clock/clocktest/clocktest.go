// Package clocktest has a clock that moves only when a test moves it.
package clocktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"berth/ports/clock"
)

// Fake is a clock.Clock that stands still until it is told to move. Use New.
type Fake struct {
	mu      sync.Mutex
	now     time.Time
	elapsed time.Duration
	pending []*timer
	changed chan struct{} // closed and replaced whenever the number of pending timers changes
}

var _ clock.Clock = (*Fake)(nil)

// New returns a fake that reads now. Its Elapsed starts at an hour, so that a zero kept by mistake for a reading is far
// from any true one.
func New(now time.Time) *Fake {
	return &Fake{now: now.UTC(), elapsed: time.Hour, changed: make(chan struct{})}
}

// Now returns the fake's wall clock.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Elapsed returns the fake's monotonic clock.
func (f *Fake) Elapsed() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.elapsed
}

// Advance moves both clocks forward by d and fires every timer that falls due, earliest first, each with the time at
// which it was due. It panics on a negative d: Elapsed never runs backwards.
func (f *Fake) Advance(d time.Duration) {
	if d < 0 {
		panic("clocktest: a clock cannot advance backwards; Jump moves the wall clock")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	until := f.elapsed + d
	start, wall := f.elapsed, f.now
	for len(f.pending) > 0 && f.pending[0].due <= until {
		t := f.pending[0]
		f.remove(t)
		f.elapsed = max(f.elapsed, t.due)
		t.fire(wall.Add(f.elapsed - start))
	}
	f.elapsed, f.now = until, wall.Add(d)
}

// Suspend moves both clocks forward by d as a machine that sleeps does: no timer comes nearer to firing, and Elapsed
// shows the time that passed.
func (f *Fake) Suspend(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now, f.elapsed = f.now.Add(d), f.elapsed+d
	for _, t := range f.pending {
		t.due += d
	}
}

// Jump moves the wall clock alone by d, in either direction, as setting the machine's time does. No timer notices.
func (f *Fake) Jump(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// Timers returns how many timers are pending.
func (f *Fake) Timers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending)
}

// AwaitTimers waits until at least n timers are pending, so that a test moves the clock only after the code under test
// waits for it. It returns the context's error where that ends first.
func (f *Fake) AwaitTimers(ctx context.Context, n int) error {
	for {
		f.mu.Lock()
		count, changed := len(f.pending), f.changed
		f.mu.Unlock()
		if count >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// NewTimer returns a timer that fires when Advance passes d from now.
func (f *Fake) NewTimer(d time.Duration) clock.Timer {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := &timer{clock: f, c: make(chan time.Time, 1)}
	f.set(t, d)
	return t
}

func (f *Fake) set(t *timer, d time.Duration) {
	t.due = f.elapsed + d
	if d <= 0 {
		t.fire(f.now)
		return
	}
	at, _ := slices.BinarySearchFunc(f.pending, t.due, func(p *timer, due time.Duration) int {
		if p.due <= due {
			return -1
		}
		return 1
	})
	f.pending = slices.Insert(f.pending, at, t)
	f.announce()
}

func (f *Fake) remove(t *timer) bool {
	at := slices.Index(f.pending, t)
	if at < 0 {
		return false
	}
	f.pending = slices.Delete(f.pending, at, at+1)
	f.announce()
	return true
}

func (f *Fake) announce() {
	close(f.changed)
	f.changed = make(chan struct{})
}

type timer struct {
	clock *Fake
	c     chan time.Time
	due   time.Duration
}

func (t *timer) C() <-chan time.Time { return t.c }

func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.stop()
}

func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	pending := t.stop()
	t.clock.set(t, d)
	return pending
}

func (t *timer) stop() bool {
	pending := t.clock.remove(t)
	select {
	case <-t.c:
	default:
	}
	return pending
}

func (t *timer) fire(at time.Time) { t.c <- at }
