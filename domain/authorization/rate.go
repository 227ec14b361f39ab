package authorization

import "time"

// Rate is how often something may be done: so many times a second, and as many at once after a second of rest. It is at
// least 1.
type Rate int

// Pace counts something that keeps to a rate, as one that did not happen for a long time: the zero value permits the most
// at once.
type Pace struct {
	// due is when all that happened would have happened at the rate's own pace (the theoretical arrival time of GCRA).
	due time.Duration
}

// Take counts one more at the monotonic instant now, and returns 0; or counts nothing, and returns after how long there is
// room again.
func (p *Pace) Take(r Rate, now time.Duration) (wait time.Duration) {
	every := time.Second / time.Duration(r)
	due := max(p.due, now)
	if ahead := due + every - now; ahead > time.Second {
		return ahead - time.Second
	}
	p.due = due + every
	return 0
}

// Rested says whether a count that began anew now would be the same.
func (p *Pace) Rested(now time.Duration) bool { return p.due <= now }
