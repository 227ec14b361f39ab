package systemclock_test

import (
	"testing"
	"time"

	"berth/adapters/clock/systemclock"
)

func open(tb testing.TB) *systemclock.Clock {
	tb.Helper()
	c, err := systemclock.New()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Elapsed never runs backwards, and it does run.
func TestElapsedRunsForward(t *testing.T) {
	t.Parallel()
	c := open(t)
	first := c.Elapsed()
	last := first
	for range 100_000 {
		next := c.Elapsed()
		if next < last {
			t.Fatalf("Elapsed went back from %v to %v", last, next)
		}
		last = next
	}
	if last == first {
		t.Fatal("Elapsed stands still")
	}
}

// Elapsed and Go's own monotonic clock agree while the machine is awake.
func TestElapsedKeepsPace(t *testing.T) {
	t.Parallel()
	c := open(t)
	began, before := time.Now(), c.Elapsed()
	timer := c.NewTimer(20 * time.Millisecond)
	<-timer.C()
	inner := c.Elapsed() - before
	outer := time.Since(began)
	if inner < 20*time.Millisecond-time.Millisecond || inner > outer+time.Millisecond {
		t.Fatalf("Elapsed moved by %v within %v", inner, outer)
	}
}

// Now is UTC, so that what is formatted or stored needs no conversion.
func TestNowIsUTC(t *testing.T) {
	t.Parallel()
	if loc := open(t).Now().Location(); loc != time.UTC {
		t.Fatalf("Now is in %v", loc)
	}
}

// A stopped timer does not fire and a reset one does.
func TestTimerStopsAndResets(t *testing.T) {
	t.Parallel()
	timer := open(t).NewTimer(time.Hour)
	if !timer.Stop() || timer.Stop() {
		t.Fatal("Stop must report pending once")
	}
	if timer.Reset(0) {
		t.Fatal("Reset found a stopped timer pending")
	}
	<-timer.C()
}

func BenchmarkElapsed(b *testing.B) {
	c := open(b)
	for b.Loop() {
		c.Elapsed()
	}
}

// A shifted clock differs by its wall clock alone.
func TestShifted(t *testing.T) {
	t.Parallel()
	for _, offset := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		c, err := systemclock.Shifted(offset)
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Until(c.Now()) - offset; off > 0 || off < -time.Second {
			t.Errorf("shifted by %s, it is off by %s", offset, off)
		}
		if ahead := c.Elapsed() - open(t).Elapsed(); ahead > 0 || ahead < -time.Second {
			t.Errorf("Elapsed is shifted by %s", ahead)
		}
	}
}
