package placement

import "time"

// Clocks is one reading of a node's two clocks at one instant.
type Clocks struct {
	Wall    time.Time     // without a monotonic reading, as ident.Instant gives it
	Elapsed time.Duration // on a clock that runs on through suspend (P9)
}

// ClockWatch finds out that one of a node's clocks jumped: then nobody knows how long the node was away, and its lease
// counts as over. A machine that was restored from a memory image has a monotonic clock that goes on as if nothing had
// been; that time has passed shows only in the wall clock. Suspending a machine moves both and is no jump. The zero
// value but for its bound has seen nothing yet.
type ClockWatch struct {
	Bound time.Duration // by how much the two may diverge between two beats

	known bool
	at    Clocks
	since time.Duration
}

// Believe takes a reading for true: the one made when a beat was sent that was accepted.
func (w *ClockWatch) Believe(at Clocks) { w.known, w.at = true, at }

// Jump is how far the wall clock went beyond the other one since the last reading that was believed; it says whether
// that is a jump. It is negative for a wall clock that was set back.
func (w *ClockWatch) Jump(now Clocks) (time.Duration, bool) {
	if !w.known {
		return 0, false
	}
	gap := now.Wall.Sub(w.at.Wall) - (now.Elapsed - w.at.Elapsed)
	return gap, gap > w.Bound || gap < -w.Bound
}

// Distrust ends the trust in everything that was asked for before the instant now.
func (w *ClockWatch) Distrust(now time.Duration) { w.known, w.since = false, now }

// Trusts says whether an answer to a request that was sent at the instant given may still be taken.
func (w *ClockWatch) Trusts(asked time.Duration) bool { return asked >= w.since }
