package watch_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/application/watch"
	"berth/domain/fault"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench is a watch on a clock that the test moves.
type bench struct {
	t     *testing.T
	clock *clocktest.Fake
	log   *journal
	watch *watch.Watch
	stop  context.CancelFunc
	done  chan error
}

// journal is a log that a test reads while it is written.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func start(t *testing.T, duties ...watch.Duty) *bench {
	t.Helper()
	b := &bench{t: t, clock: clocktest.New(began), log: &journal{}, done: make(chan error, 1)}
	b.watch = &watch.Watch{
		Clock: b.clock, IDs: idstest.New(1), Log: slog.New(slog.NewTextHandler(b.log, nil)), Leader: watch.Alone{},
	}
	ctx, stop := context.WithCancel(t.Context())
	b.stop = stop
	go func() { b.done <- b.watch.Run(ctx, duties...) }()
	t.Cleanup(func() { stop() })
	return b
}

// settled waits until n duties wait for their time.
func (b *bench) settled(n int) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	if err := b.clock.AwaitTimers(ctx, n); err != nil {
		b.t.Fatalf("the duties did not settle: %v", err)
	}
}

func (b *bench) ended() {
	b.t.Helper()
	b.stop()
	select {
	case err := <-b.done:
		if err != nil {
			b.t.Fatalf("the watch ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		b.t.Fatal("the watch goes on after its context ended")
	}
}

func counting(name string, every time.Duration, n *atomic.Int64) watch.Duty {
	return watch.Duty{Name: name, Every: every, Run: func(context.Context) error { n.Add(1); return nil }}
}

// A duty runs at once, then at its interval, never later and at most a fifth earlier.
func TestRunsAtItsInterval(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	b := start(t, counting("sweep", time.Minute, &runs))
	for want := int64(1); want <= 20; want++ {
		b.settled(1)
		if runs.Load() != want {
			t.Fatalf("%d runs, want %d", runs.Load(), want)
		}
		b.clock.Advance(48*time.Second - time.Millisecond)
		if runs.Load() != want {
			t.Fatalf("run %d came before four fifths of the interval", want+1)
		}
		b.clock.Advance(12*time.Second + time.Millisecond)
		for runs.Load() == want { // the timer has fired: the run comes without the clock
			b.settled(0)
		}
	}
	b.ended()
}

// Two replicas that start together drift apart.
func TestJitterDiffers(t *testing.T) {
	t.Parallel()
	early := 0
	for seed := range uint64(20) {
		var runs atomic.Int64
		clk := clocktest.New(began)
		w := &watch.Watch{Clock: clk, IDs: idstest.New(seed), Log: slog.New(slog.DiscardHandler), Leader: watch.Alone{}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx, counting("sweep", time.Minute, &runs)) }()
		if err := clk.AwaitTimers(ctx, 1); err != nil {
			t.Fatal(err)
		}
		clk.Advance(54 * time.Second)
		if clk.Timers() == 0 || runs.Load() > 1 {
			early++
		}
		stop()
		<-done
	}
	if early == 0 || early == 20 {
		t.Errorf("%d of 20 replicas ran before 54 s of 60", early)
	}
}

// An error and a panic are logged with the duty's name, and stop neither this duty nor another.
func TestFailuresAreLoggedAndPassed(t *testing.T) {
	t.Parallel()
	var fine, failing, panicking atomic.Int64
	b := start(t, counting("fine", time.Minute, &fine),
		watch.Duty{Name: "failing", Every: time.Minute, Run: func(context.Context) error {
			failing.Add(1)
			return errors.New("the disk is full")
		}},
		watch.Duty{Name: "panicking", Every: time.Minute, Run: func(context.Context) error {
			panicking.Add(1)
			panic("a defect")
		}})
	for range 3 {
		b.settled(3)
		b.clock.Advance(time.Minute)
	}
	b.settled(3)
	for name, n := range map[string]*atomic.Int64{"fine": &fine, "failing": &failing, "panicking": &panicking} {
		if n.Load() < 3 {
			t.Errorf("%s ran %d times", name, n.Load())
		}
	}
	log := b.log.String()
	for _, want := range []string{"duty=failing", "the disk is full", "duty=panicking", "a defect", "watch_test.go"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	if strings.Contains(log, "duty=fine") {
		t.Errorf("the log complains about what went well:\n%s", log)
	}
	b.ended()
}

// A duty never overlaps itself, and one that hangs holds up no other; it ends with the context, without a complaint.
func TestHangingDutyHoldsUpNobody(t *testing.T) {
	t.Parallel()
	var running, most, runs atomic.Int64
	entered := make(chan struct{}, 1)
	b := start(t, counting("fine", time.Minute, &runs),
		watch.Duty{Name: "hanging", Every: time.Second, Run: func(ctx context.Context) error {
			most.Store(max(most.Load(), running.Add(1)))
			entered <- struct{}{}
			<-ctx.Done()
			running.Add(-1)
			return ctx.Err()
		}})
	<-entered
	for range 5 {
		b.settled(1)
		b.clock.Advance(time.Minute)
	}
	b.settled(1)
	if runs.Load() < 5 {
		t.Errorf("the other duty ran %d times", runs.Load())
	}
	b.ended()
	if most.Load() != 1 || running.Load() != 0 {
		t.Errorf("%d runs at once, %d left behind", most.Load(), running.Load())
	}
	if log := b.log.String(); strings.Contains(log, "hanging") {
		t.Errorf("a stop was taken for a failure:\n%s", log)
	}
}

// A run that takes longer than its interval is told of.
func TestSlowRunIsTold(t *testing.T) {
	t.Parallel()
	var b *bench
	ready := make(chan struct{})
	b = start(t, watch.Duty{Name: "slow", Every: time.Second, Run: func(context.Context) error {
		<-ready
		b.clock.Advance(time.Minute)
		return nil
	}})
	close(ready)
	b.settled(1)
	if log := b.log.String(); !strings.Contains(log, "duty=slow") || !strings.Contains(log, "level=WARN") {
		t.Errorf("the log says nothing of the slow run:\n%s", log)
	}
	b.ended()
}

// Duties that could not be kept are refused before anything ran.
func TestRefusesInvalidDuties(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	good := counting("good", time.Minute, &runs)
	run := func(context.Context) error { runs.Add(1); return nil }
	for name, bad := range map[string]watch.Duty{
		"no name":           {Every: time.Minute, Run: run},
		"no interval":       {Name: "bad", Run: run},
		"negative interval": {Name: "bad", Every: -1, Run: run},
		"nothing to run":    {Name: "bad", Every: time.Minute},
		"a name twice":      good,
	} {
		w := &watch.Watch{Clock: clocktest.New(began), IDs: idstest.New(1), Log: slog.New(slog.DiscardHandler), Leader: watch.Alone{}}
		if err := w.Run(t.Context(), good, bad); fault.SlugOf(err) != "invalid_duty" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if runs.Load() != 0 {
		t.Errorf("%d runs all the same", runs.Load())
	}
}
