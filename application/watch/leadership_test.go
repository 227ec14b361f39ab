package watch_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"berth/application/watch"
	"berth/domain/fault"
	"berth/domain/leadership"
	"berth/ports/ids/idstest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// The first replica leads at its first look and runs everything at once; a second one runs only what runs everywhere.
func TestOneReplicaRunsWhatOneIsEnoughFor(t *testing.T) {
	t.Parallel()
	c, sweep, count := newCluster(t), newTally(), newTally()
	replicas := []*replica{c.add("a"), c.add("b")}
	for _, r := range replicas {
		r.run(sweep.duty("sweep", time.Minute, false, r.name), count.duty("count", time.Minute, true, r.name))
		count.await(t, r.name, 1)
	}
	sweep.await(t, "a", 1)
	for range 4 * 60 * 2 {
		for _, r := range replicas {
			r.advance(500*time.Millisecond, waiting(2))
		}
	}
	if sweep.by("a") < 4 || sweep.by("b") != 0 || count.by("a") < 4 || count.by("b") < 4 {
		t.Errorf("sweeps: a %d, b %d; counts: a %d, b %d", sweep.by("a"), sweep.by("b"), count.by("a"), count.by("b"))
	}
	if row, _ := c.row(); row.Holder != "replica_a" || row.Number != 1 || row.Beat < 100 {
		t.Errorf("the leadership is %+v", row)
	}
	if !strings.Contains(replicas[0].log.String(), "this replica leads the sweeps") || replicas[1].log.String() != "" {
		t.Errorf("a says %s\nb says %s", replicas[0].log, replicas[1].log)
	}
	for _, r := range replicas {
		r.ends()
	}
}

// A leader that is killed is replaced within 10 s, not before its own time is over, and then everything runs promptly.
func TestKilledLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"after its claim": 0, "after renewals": 7 * time.Second, "in between": 8700 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, sweep := newCluster(t), newTally()
			a := c.add("a").run(sweep.duty("sweep", time.Hour, false, "a"))
			b := c.add("b").run(sweep.duty("sweep", time.Hour, false, "b"))
			sweep.await(t, "a", 1)
			for d := time.Duration(0); d < before; d += tick {
				a.advance(tick, waiting(1))
				b.advance(tick, waiting(1))
			}
			// a is killed: its clock stands still, and it does nothing.
			took := b.until(10*time.Second, waiting(1), b.Leads)
			if took < 5*time.Second {
				t.Errorf("b leads %s after a's last look, and a may lead for 5 s", took)
			}
			sweep.await(t, "b", 1)
			if row, _ := c.row(); row.Holder != "replica_b" || row.Number != 2 {
				t.Errorf("the leadership is %+v", row)
			}
			a.ends()
			b.ends()
		})
	}
}

// A leader that is stopped gives the leadership up once its duties have ended; another takes it at its next look.
func TestStoppedLeaderResigns(t *testing.T) {
	t.Parallel()
	c, sweep := newCluster(t), newTally()
	a, held := c.add("a"), make(chan leadership.Record, 1)
	a.hold(func() {
		row, _ := c.row()
		held <- row
	})
	b := c.add("b").run(sweep.duty("sweep", time.Hour, false, "b"))
	b.advance(2*time.Second, waiting(1))
	if b.Leads() {
		t.Fatal("b leads beside a")
	}
	a.ends()
	if row := soon(t, held); row.Holder != "replica_a" {
		t.Errorf("while a duty still ran the leadership was %+v", row)
	}
	if row, _ := c.row(); row.Holder != "" || a.Leads() {
		t.Errorf("after the stop the leadership is %+v", row)
	}
	b.until(500*time.Millisecond, waiting(1), b.Leads)
	sweep.await(t, "b", 1)
	b.ends()
	if log := a.log.String(); strings.Contains(log, "level=WARN") || !strings.Contains(log, `why="it stops"`) {
		t.Errorf("a says\n%s", log)
	}
}

// A leader that was paused does not begin a run, and its runs end within a moment of its waking.
func TestPausedLeaderStops(t *testing.T) {
	t.Parallel()
	a, ended := newCluster(t).add("a"), make(chan struct{}, 1)
	a.hold(func() { ended <- struct{}{} })
	a.fails(storetest.Unavailable, nil)
	a.clock.Suspend(5 * time.Second)
	if _, _, ok := a.Lead(t.Context()); ok || a.Leads() {
		t.Error("it leads on after it slept through its time")
	}
	a.clock.Advance(250 * time.Millisecond)
	soon(t, ended)
	a.ends()
}

// A leader without a database stops by itself in time, whether its calls fail or hang; with the database back it leads
// again and runs everything promptly.
func TestLeaderWithoutADatabaseStops(t *testing.T) {
	t.Parallel()
	back := make(chan struct{})
	for name, away := range map[string]func() error{
		"failing": storetest.Unavailable,
		"hanging": func() error { <-back; return storetest.Unavailable() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := 0 // that hang, and whose timer is not pending
			if name == "hanging" {
				looks = 1
			}
			a, ended := newCluster(t).add("a"), make(chan struct{}, 1)
			a.hold(func() { ended <- struct{}{} })
			start, said := a.clock.Elapsed(), len(a.log.String())
			a.fails(away, nil)
			for a.Leads() {
				a.clock.Advance(tick)
				a.settle(waiting(1) - looks)
			}
			if took := a.clock.Elapsed() - start; took > 5*time.Second {
				t.Errorf("it led for %s", took)
			}
			a.clock.Advance(250 * time.Millisecond)
			soon(t, ended)
			a.fails(nil, nil)
			if name == "hanging" {
				close(back)
			}
			a.until(time.Second, waiting(1), a.Leads)
			soon(t, a.entered)
			log := a.log.String()[said:]
			for _, want := range []string{"this replica leads the sweeps no more", "duty=leadership ", "this replica leads the sweeps\""} {
				if !strings.Contains(log, want) {
					t.Errorf("the log does not say %s:\n%s", want, log)
				}
			}
			a.ends()
		})
	}
}

// A claim or renewal whose answer is lost is found by the next look.
func TestLostAnswersAreMadeUpFor(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.add("a")
	a.fails(nil, storetest.CommitUnknown)
	a.run()
	if row, _ := c.row(); row.Holder != "replica_a" || a.Leads() {
		t.Fatalf("it leads by a claim that nobody confirmed: %+v, %t", row, a.Leads())
	}
	a.fails(nil, nil)
	a.until(500*time.Millisecond, waiting(0), a.Leads)
	a.fails(nil, storetest.CommitUnknown)
	a.advance(4*time.Second, waiting(0))
	a.fails(nil, nil)
	a.advance(2*time.Second, waiting(0))
	if !a.Leads() || strings.Contains(a.log.String(), "no more") {
		t.Errorf("lost answers of renewals that were made cost the leadership:\n%s", a.log)
	}
	a.ends()
}

// A failover to a copy that knows nothing of the leader ends its leadership at the next renewal; nobody leads before the
// others could have found out (P9).
func TestFailoverBeginsAnew(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	empty := c.mem.Copy()
	a, b := c.add("a").run(), c.add("b").run()
	both := func() bool {
		a.advance(tick, waiting(0))
		b.advance(tick, waiting(0))
		if a.Leads() && b.Leads() {
			t.Fatal("both lead")
		}
		return false
	}
	for range 60 {
		both()
	}
	if !a.Leads() {
		t.Fatal("a does not lead")
	}
	c.mem.FailOver(empty, "promoted")
	led := 0
	for took := time.Duration(0); took < 15*time.Second; took += tick {
		both()
		if a.Leads() && took > 2200*time.Millisecond && took < 7*time.Second {
			t.Fatalf("a leads %s after the failover, and has found out", took)
		}
		if _, found := c.row(); found && took < 7*time.Second {
			t.Fatalf("a leadership was claimed %s after the failover", took)
		}
		if took > 10*time.Second && (a.Leads() || b.Leads()) {
			led++
		}
	}
	if led == 0 {
		t.Error("nobody leads any more")
	}
	a.ends()
	b.ends()
}

// A database that refuses, as one of a newer schema does, is no other leader: it is a failure, and told.
func TestRefusalsOfTheDatabaseAreTold(t *testing.T) {
	t.Parallel()
	a := newCluster(t).add("a").run()
	a.fails(func() error { return fault.New(fault.Conflict, "schema_newer", "a step that is not known") }, nil)
	a.advance(3*time.Second, waiting(0))
	if log := a.log.String(); !strings.Contains(log, "schema_newer") || strings.Contains(log, "another leader") {
		t.Errorf("the log says\n%s", log)
	}
	a.ends()
}

// A resignation that the database does not take is told, and holds nothing up.
func TestResignationThatFailsIsTold(t *testing.T) {
	t.Parallel()
	a := newCluster(t).add("a").run()
	a.fails(storetest.Unavailable, nil)
	a.ends()
	if log := a.log.String(); a.Leads() || !strings.Contains(log, "was not handed over") {
		t.Errorf("the log says\n%s", log)
	}
}

// Alone, a replica leads at once, runs everything, and stores nothing.
func TestAloneLeadsAtOnceAndStoresNothing(t *testing.T) {
	t.Parallel()
	c, sweep := newCluster(t), newTally()
	b := start(t, sweep.duty("sweep", time.Minute, false, "alone"))
	sweep.await(t, "alone", 1)
	if row, found := c.row(); found || !(watch.Alone{}).Leads() {
		t.Errorf("there is a leadership %+v", row)
	}
	b.ended()
}

func TestUnsafeTimingIsRefused(t *testing.T) {
	t.Parallel()
	timing := leadership.DefaultTiming()
	timing.Claim = timing.Lead
	_, err := watch.NewLeadership(storetest.NewMemory(), nil, idstest.New(1), slog.New(slog.DiscardHandler), timing)
	if fault.SlugOf(err) != "leadership_timing_unsafe" {
		t.Errorf("got %v", err)
	}
}

// Who waits reads, and writes nothing: only the leader's renewals take the database's one writer.
func TestWaitingWritesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.add("a").run()
	b := c.add("b")
	b.Store = readOnly{c.mem}
	b.run()
	for range 100 {
		a.advance(tick, waiting(0))
		b.advance(tick, waiting(0))
	}
	if log := b.log.String(); log != "" {
		t.Errorf("b says\n%s", log)
	}
	a.ends()
	b.ends()
}

type readOnly struct{ store.Store }

func (readOnly) Atomically(context.Context, func(context.Context, *store.Roles) error) error {
	return errors.New("it writes")
}
