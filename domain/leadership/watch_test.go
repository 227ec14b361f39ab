package leadership

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Timing that passes keeps every other replica waiting longer than a leader leads, by clocks that are each within 10 %.
func TestAcceptedTimingOutlastsTheLeader(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(-1, int64(20*time.Second)).Draw(t, name))
		}
		timing := Timing{Look: some("look"), Renew: some("renew"), Lead: some("lead"), Claim: some("claim")}
		if timing.Check() != nil {
			return
		}
		if slow, fast := timing.Lead*10/9, timing.Claim*10/11; fast < slow {
			t.Fatalf("%+v: a slow leader leads for %s, a fast replica claims after %s", timing, slow, fast)
		}
		if timing.Lead <= 2*timing.Renew {
			t.Fatalf("%+v: one renewal that is lost costs the leadership", timing)
		}
	})
}

func TestUnsafeTimingIsRefused(t *testing.T) {
	t.Parallel()
	must(t, DefaultTiming().Check())
	for name, change := range map[string]func(*Timing){
		"never looks":      func(l *Timing) { l.Look = 0 },
		"looks too seldom": func(l *Timing) { l.Look = 2*time.Second + 1 },
		"leads too short":  func(l *Timing) { l.Lead = 4*time.Second + 499*time.Millisecond },
		"claims too early": func(l *Timing) { l.Claim = 6*time.Second + 249*time.Millisecond },
		"claims never":     func(l *Timing) { l.Claim = 11 * time.Minute },
	} {
		timing := DefaultTiming()
		change(&timing)
		refused(t, timing.Check(), "leadership_timing_unsafe")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// A leader leads for 5 s from when it sent its renewal, not a moment longer, and renews before the look that would be
// later than 2 s after it.
func TestTenureCountsFromSending(t *testing.T) {
	t.Parallel()
	timing, sent := DefaultTiming(), time.Hour
	own := timing.Since(sent, 4)
	if !own.Leads(sent+5*time.Second-1) || own.Leads(sent+5*time.Second) || (Tenure{}).Leads(0) {
		t.Fatalf("%+v", own)
	}
	if timing.RenewalDue(own, sent+1500*time.Millisecond-1) || !timing.RenewalDue(own, sent+1500*time.Millisecond) {
		t.Fatal("the renewal is due at another time")
	}
}

const me, other = "replica_me", "replica_other"

// What another holds is claimed after it was seen unchanged for longer than 7 s; a renewal begins the count anew.
func TestHeldTermIsClaimedWhenItWasCountedOut(t *testing.T) {
	t.Parallel()
	w, mark, now := NewWatch(DefaultTiming()), Mark{other, 3, 9}, time.Hour
	w.In("one", now)
	if w.MayClaim("sweeps", me, mark, now+time.Minute) {
		t.Fatal("it claims what it has not seen")
	}
	w.Observe("sweeps", mark, now)
	if w.MayClaim("sweeps", me, mark, now+7*time.Second) || !w.MayClaim("sweeps", me, mark, now+7*time.Second+1) {
		t.Fatal("the count does not end after 7 s")
	}
	if w.MayClaim("others", me, mark, now+time.Minute) {
		t.Fatal("it claims another duty by this one's count")
	}
	w.Observe("sweeps", Mark{other, 3, 10}, now+8*time.Second)
	if w.MayClaim("sweeps", me, Mark{other, 3, 10}, now+9*time.Second) {
		t.Fatal("the count went on through a renewal")
	}
}

// What nobody holds, and what the replica holds itself without leading, is claimed at once.
func TestFreeTermIsClaimedAtOnce(t *testing.T) {
	t.Parallel()
	w := NewWatch(DefaultTiming())
	w.In("one", 0)
	for _, mark := range []Mark{{}, {"", 3, 9}, {me, 3, 9}} {
		if !w.MayClaim("sweeps", me, mark, 0) {
			t.Errorf("%+v is not claimed", mark)
		}
	}
}

// In another history everything is counted from when it was first read: who leads may not be in it (P9).
func TestAnotherHistoryIsGivenTime(t *testing.T) {
	t.Parallel()
	w, now := NewWatch(DefaultTiming()), time.Hour
	w.In("7/1", now)
	for _, origin := range []string{"7/2", "7/1"} { // back to the first is another, too
		for _, mark := range []Mark{{}, {me, 3, 9}, {other, 3, 9}} {
			w.Observe("sweeps", mark, now)
			later := now + time.Minute
			w.In(origin, later)
			w.Observe("sweeps", mark, later)
			if w.MayClaim("sweeps", me, mark, later+7*time.Second) {
				t.Errorf("in %s, %+v is claimed by the count of the history before", origin, mark)
			}
			if now = later + 7*time.Second + 1; !w.MayClaim("sweeps", me, mark, now) {
				t.Errorf("in %s, %+v is never claimed", origin, mark)
			}
			w.In("7/0", now)
		}
	}
}
