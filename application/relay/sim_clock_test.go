package relay_test

import (
	"sync"
	"time"

	"berth/ports/clock"
)

// simClock is a machine's clocks in a bubble of virtual time: of a speed of its own, with a wall clock that can be set.
// While the machine stands still no timer fires.
type simClock struct {
	rate  float64 // of Elapsed against true time
	start time.Time

	mu     sync.Mutex
	offset time.Duration // of the wall clock
	set    time.Time     // when it was set last
	still  time.Time     // until when the machine stands still
	frozen time.Duration // true time that Elapsed did not see: of a machine that was restored from its memory
	from   time.Time     // since when it is frozen; zero while it is not
}

func newSimClock(rate float64) *simClock { return &simClock{rate: rate, start: time.Now()} }

func (c *simClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset).UTC()
}

func (c *simClock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !c.from.IsZero() {
		now = c.from
	}
	return time.Hour + time.Duration(float64(now.Sub(c.start)-c.frozen)*c.rate)
}

// stand keeps the machine still for a time; Elapsed goes on, unless it freezes.
func (c *simClock) stand(d time.Duration, freeze bool) {
	c.mu.Lock()
	if time.Now().Before(c.still) || !c.from.IsZero() {
		c.mu.Unlock()
		return
	}
	c.still = time.Now().Add(d)
	if freeze {
		c.from = time.Now()
	}
	c.mu.Unlock()
	if !freeze {
		return
	}
	time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.frozen += time.Since(c.from)
		c.from = time.Time{}
	})
}

func (c *simClock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
	c.set = time.Now()
}

func (c *simClock) wasSet() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set
}

// stands says whether the machine stands still.
func (c *simClock) stands() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.still) || !c.from.IsZero()
}

// moves waits until the machine does not stand still.
func (c *simClock) moves() {
	for {
		c.mu.Lock()
		left := time.Until(c.still)
		c.mu.Unlock()
		if left <= 0 {
			return
		}
		pass(left + time.Nanosecond)
	}
}

func (c *simClock) NewTimer(d time.Duration) clock.Timer {
	t := &simTimer{clock: c, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

type simTimer struct {
	clock *simClock
	c     chan time.Time

	mu   sync.Mutex
	turn int
	set  bool
	wait *time.Timer
}

func (t *simTimer) C() <-chan time.Time { return t.c }

func (t *simTimer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop()
}

func (t *simTimer) stop() bool {
	was := t.set
	t.turn++
	t.set = false
	if t.wait != nil {
		t.wait.Stop()
	}
	select {
	case <-t.c:
	default:
	}
	return was
}

func (t *simTimer) Reset(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.stop()
	t.set = true
	turn := t.turn
	t.wait = time.AfterFunc(time.Duration(float64(max(0, d))/t.clock.rate)+1, func() { // never without that time passes
		t.clock.moves()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.turn == turn {
			t.set = false
			t.c <- t.clock.Now()
		}
	})
	return was
}
