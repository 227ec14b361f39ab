// Package clock is how Berth asks for the time. There are two clocks, and they answer different questions: Now says
// what time people call it, and may jump; Elapsed only runs forward, and is the one that leases are counted on (P9).
package clock

import "time"

// Clock tells the time. All methods are safe for concurrent use.
type Clock interface {
	// Now returns the wall clock's time in UTC. It may jump in both directions, so no lease is counted on it.
	Now() time.Time
	// Elapsed returns the time since an arbitrary moment that stays the same for the life of the process. It never runs
	// backwards, is not moved by setting the wall clock, and runs on while the machine is suspended (CLOCK_BOOTTIME):
	// a node that slept through its lease must find that it ran out. Readings of two processes do not compare.
	Elapsed() time.Duration
	// NewTimer returns a timer that fires once, d from now; at once where d is not positive. A timer may fire late, and
	// on a suspended machine it does: whoever guards a lease with one also compares Elapsed after it fired.
	NewTimer(d time.Duration) Timer
}

// Timer fires once. Its methods are safe for concurrent use with the firing, not with one another.
type Timer interface {
	// C returns the channel on which the time of firing is delivered, at most once for each setting.
	C() <-chan time.Time
	// Stop keeps the timer from firing and reports whether it was pending. After it returned, no firing of an earlier
	// setting is received.
	Stop() bool
	// Reset sets the timer anew, to fire d from now, and reports whether it was pending. After it returned, no firing
	// of an earlier setting is received.
	Reset(d time.Duration) bool
}
