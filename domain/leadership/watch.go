package leadership

import (
	"time"

	"berth/domain/counting"
	"berth/domain/fault"
)

// Timing is how long a leader believes itself leader, and how much longer the others wait. Each replica counts it on its
// own monotonic clock.
type Timing struct {
	Look  time.Duration // how often each replica looks at the term, at the longest
	Renew time.Duration // how often the leader renews it
	Lead  time.Duration // a leader believes itself leader so long after it sent the last renewal that was accepted
	Claim time.Duration // the others claim once they saw the term unchanged for longer than this
}

// DefaultTiming has a leader that died replaced within 10 s: two looks and the count, by a clock that is 10 % slow.
func DefaultTiming() Timing {
	return Timing{Look: 500 * time.Millisecond, Renew: 2 * time.Second, Lead: 5 * time.Second, Claim: 7 * time.Second}
}

// Check refuses timing under which two replicas could believe themselves leaders while their clocks are within 10 % of
// the true speed, or under which one lost renewal costs the leadership. Fault: Invalid leadership_timing_unsafe.
func (t Timing) Check() error {
	unsafe := func(field, why string) error {
		return fault.New(fault.Invalid, "leadership_timing_unsafe", "%s", why).At("leadership." + field)
	}
	switch {
	case t.Look < 100*time.Millisecond || t.Look > t.Renew:
		return unsafe("look", "the term is looked at every 100 ms to once in a renewal")
	case t.Lead < 2*t.Renew+t.Look:
		return unsafe("lead", "a leader leads on through one renewal that is lost: for two of them and a look")
	case t.Claim < t.Lead+t.Lead/4: // of two clocks, one 10 % slow and one 10 % fast, one runs 22 % faster
		return unsafe("claim", "the others wait a quarter longer than a leader leads")
	case t.Claim > 10*time.Minute:
		return unsafe("claim", "the others wait 10 min at most")
	}
	return nil
}

// Tenure is what a replica believes of its own leadership. The zero value is none.
type Tenure struct {
	Number int64         // of its term
	Until  time.Duration // on the replica's own monotonic clock
}

// Since is the tenure of whoever sent at that instant what claimed or renewed the term. Sent, not answered: what was
// accepted long before the answer came has been counted by others ever since.
func (t Timing) Since(sent time.Duration, number int64) Tenure { return Tenure{number, sent + t.Lead} }

// Leads says whether the replica may act as the leader at the monotonic instant now.
func (t Tenure) Leads(now time.Duration) bool { return now < t.Until }

// RenewalDue says whether the term is to be renewed at this look, the next of which would be late for it.
func (t Timing) RenewalDue(own Tenure, now time.Duration) bool {
	sent := own.Until - t.Lead
	return now+t.Look >= sent+t.Renew
}

// Watch counts terms for one replica, by duty, on its own monotonic clock.
type Watch struct {
	timing    Timing
	rows      counting.Unchanged[string, Mark]
	histories int           // that it has read
	since     time.Duration // when it came to the present one
}

// NewWatch starts to count by the given timing.
func NewWatch(t Timing) *Watch { return &Watch{timing: t} }

// In says, at the monotonic instant now, of which history is what is read next. Another one than before starts every
// count anew: what was claimed and renewed last may be lost from it.
func (w *Watch) In(origin string, now time.Duration) {
	if w.rows.In(origin) {
		w.histories++
		w.since = now
	}
}

// Observe notes the term as the replica reads it at the monotonic instant now.
func (w *Watch) Observe(duty string, mark Mark, now time.Duration) { w.rows.Observe(duty, mark, now) }

// MayClaim says whether the replica named me, which does not lead by its own tenure, may claim the term at mark: what
// another holds, once this replica counted it out; what nobody holds, or what it holds itself, at once, unless the
// history changed: another replica may lead by a claim that is lost, and is given the time to find out.
func (w *Watch) MayClaim(duty, me string, mark Mark, now time.Duration) bool {
	if mark.Holder == "" || mark.Holder == me {
		return w.histories <= 1 || now-w.since > w.timing.Claim
	}
	return w.rows.For(duty, mark, now) > w.timing.Claim
}
