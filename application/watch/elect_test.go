package watch_test

import (
	"context"
	"testing"
	"time"
)

// A renewal that hung until its leadership had ended makes no leader of whoever sent it: in the history to which it came
// through, another's claim may be lost.
func TestRenewalThatHungMakesNoLeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.add("a"), c.add("b")
	lookA, lookB := a.Duties()[0].Run, b.Duties()[0].Run
	look := func(look func(context.Context) error) {
		t.Helper()
		if err := look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look(lookA)
	look(lookB)
	behind := c.mem.Copy()
	a.clock.Advance(1500 * time.Millisecond) // a renewal is due, and would make it lead until 6.5 s
	a.fails(func() error {
		a.clock.Advance(4900 * time.Millisecond)
		b.clock.Advance(7*time.Second + 1) // which is a's 6.4 s by a clock that is 10 % fast
		look(lookB)
		c.mem.FailOver(behind, "promoted")
		return nil
	}, nil)
	look(lookA)
	if !b.Leads() || a.Leads() {
		t.Errorf("a leads: %t, b leads: %t", a.Leads(), b.Leads())
	}
}

// An answer that comes after the time that it is good for makes no leader.
func TestLateAnswerMakesNoLeader(t *testing.T) {
	t.Parallel()
	a := newCluster(t).add("a")
	a.fails(nil, func() error { a.clock.Advance(5 * time.Second); return nil })
	taken := a.Taken()
	if err := a.Duties()[0].Run(t.Context()); err != nil || a.Leads() {
		t.Errorf("leads: %t, %v", a.Leads(), err)
	}
	select {
	case <-taken:
		t.Error("a leadership began that was over")
	default:
	}
}

// A replica leads for 5 s from when it sent its claim or its renewal, however long the answer took.
func TestLeadsFromSending(t *testing.T) {
	t.Parallel()
	a := newCluster(t).add("a")
	look := a.Duties()[0].Run
	slow := func(d time.Duration) func() error {
		return func() error { a.clock.Advance(d); return nil }
	}
	for _, what := range []string{"claim", "renewal"} {
		a.fails(nil, slow(3*time.Second))
		if err := look(t.Context()); err != nil || !a.Leads() {
			t.Fatalf("%s: leads: %t, %v", what, a.Leads(), err)
		}
		a.clock.Advance(2*time.Second - 1)
		if !a.Leads() {
			t.Errorf("%s: it led for less than 5 s", what)
		}
	}
	a.clock.Advance(1)
	if a.Leads() {
		t.Error("it leads on after 5 s")
	}
}

// A leadership that follows on one that ended is another: the runs of the first have ended, and everything runs promptly.
func TestNextLeadershipIsAnother(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.add("a")
	look := a.Duties()[0].Run
	if err := look(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, release, ok := a.Lead(t.Context())
	if !ok {
		t.Fatal("it does not lead")
	}
	defer release()
	taken := a.Taken()
	a.clock.Suspend(6 * time.Second)
	if err := look(t.Context()); err != nil || !a.Leads() {
		t.Fatalf("leads: %t, %v", a.Leads(), err)
	}
	soon(t, first.Done())
	soon(t, taken)
	if row, _ := c.row(); row.Number != 2 {
		t.Errorf("the leadership is %+v", row)
	}
}
