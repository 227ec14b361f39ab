package clocktest_test

import (
	"context"
	"testing"
	"time"

	"berth/ports/clock"
	"berth/ports/clock/clocktest"
)

func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// A timer fires exactly when Advance reaches it, with the time it was due, and never twice.
func TestAdvanceFiresWhatFallsDue(t *testing.T) {
	t.Parallel()
	f := clocktest.New(start())
	late, early := f.NewTimer(3*time.Second), f.NewTimer(time.Second)
	f.Advance(999 * time.Millisecond)
	quiet(t, early)
	f.Advance(5 * time.Second)
	fired(t, early, start().Add(time.Second))
	fired(t, late, start().Add(3*time.Second))
	f.Advance(time.Hour)
	quiet(t, early)
	if f.Timers() != 0 {
		t.Fatalf("%d timers are still pending", f.Timers())
	}
}

// A timer set for now or earlier fires at once, as time.NewTimer does.
func TestTimerInThePastFiresAtOnce(t *testing.T) {
	t.Parallel()
	f := clocktest.New(start())
	fired(t, f.NewTimer(0), start())
	fired(t, f.NewTimer(-time.Second), start())
}

// After Stop or Reset no firing of the earlier setting is received.
func TestStopAndResetLeaveNoStaleFiring(t *testing.T) {
	t.Parallel()
	f := clocktest.New(start())
	timer := f.NewTimer(time.Second)
	if !timer.Stop() {
		t.Fatal("Stop did not find the timer pending")
	}
	f.Advance(time.Minute)
	quiet(t, timer)
	if timer.Reset(time.Second) {
		t.Fatal("Reset found a stopped timer pending")
	}
	f.Advance(time.Second)
	if timer.Reset(time.Second) {
		t.Fatal("Reset found a fired timer pending")
	}
	quiet(t, timer)
	f.Advance(time.Second)
	fired(t, timer, start().Add(time.Minute+2*time.Second))
}

// Setting the wall clock moves neither Elapsed nor a timer: a lease does not notice it.
func TestJumpMovesTheWallClockOnly(t *testing.T) {
	t.Parallel()
	f := clocktest.New(start())
	before, timer := f.Elapsed(), f.NewTimer(time.Second)
	f.Jump(-time.Hour)
	f.Jump(3 * time.Hour)
	quiet(t, timer)
	if f.Elapsed() != before || !f.Now().Equal(start().Add(2*time.Hour)) {
		t.Fatalf("elapsed moved by %v, now reads %v", f.Elapsed()-before, f.Now())
	}
}

// A suspended machine's timers sleep while its Elapsed runs on, which is why a lease compares Elapsed (P9).
func TestSuspendRunsElapsedWithoutTimers(t *testing.T) {
	t.Parallel()
	f := clocktest.New(start())
	before, timer := f.Elapsed(), f.NewTimer(time.Second)
	f.Suspend(time.Hour)
	quiet(t, timer)
	if got := f.Elapsed() - before; got != time.Hour {
		t.Fatalf("elapsed moved by %v", got)
	}
	f.Advance(time.Second)
	fired(t, timer, start().Add(time.Hour+time.Second))
}

// AwaitTimers returns once the code under test waits, and gives up with its context.
func TestAwaitTimers(t *testing.T) {
	t.Parallel()
	f := clocktest.New(start())
	woken := make(chan time.Time)
	go func() { woken <- <-f.NewTimer(time.Second).C() }()
	if err := f.AwaitTimers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	f.Advance(time.Second)
	<-woken
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.AwaitTimers(over, 1); err == nil {
		t.Fatal("AwaitTimers found a timer that nobody set")
	}
}

func fired(t *testing.T, timer clock.Timer, want time.Time) {
	t.Helper()
	select {
	case at := <-timer.C():
		if !at.Equal(want) {
			t.Fatalf("the timer fired at %v, due at %v", at, want)
		}
	default:
		t.Fatal("the timer did not fire")
	}
}

func quiet(t *testing.T, timer clock.Timer) {
	t.Helper()
	select {
	case at := <-timer.C():
		t.Fatalf("the timer fired at %v", at)
	default:
	}
}
