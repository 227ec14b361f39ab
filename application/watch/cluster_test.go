package watch_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"berth/application/watch"
	"berth/domain/leadership"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// cluster is replicas on clocks of their own over one database.
type cluster struct {
	t        *testing.T
	mem      *storetest.Memory
	replicas []*replica
}

// replica is one process. Its link to the database can be cut, and answers of it lost.
type replica struct {
	*watch.Leadership
	store.Store
	c     *cluster
	name  string
	clock *clocktest.Fake
	log   *journal

	mu     sync.Mutex
	before func() error // of each call of the database; nil for none
	after  func() error // of each commit; nil for none

	stop    context.CancelFunc
	done    chan error
	entered chan struct{} // gets one for each run of what hold started
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return &cluster{t: t, mem: storetest.NewMemory()}
}

// add makes a replica that does nothing yet.
func (c *cluster) add(name string) *replica {
	c.t.Helper()
	r := &replica{c: c, name: name, Store: c.mem, clock: clocktest.New(began), log: &journal{}}
	log := slog.New(slog.NewTextHandler(r.log, nil))
	l, err := watch.NewLeadership(r, r.clock, named{idstest.New(1), name}, log, leadership.DefaultTiming())
	if err != nil {
		c.t.Fatal(err)
	}
	r.Leadership = l
	c.replicas = append(c.replicas, r)
	return r
}

// named gives ids that tell whose they are.
type named struct {
	*idstest.Source
	name string
}

func (n named) New(prefix string) string { return prefix + "_" + n.name }

// fails sets what goes wrong between the replica and the database from now on.
func (r *replica) fails(before, after func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before, r.after = before, after
}

func (r *replica) fault(which func() func() error) error {
	r.mu.Lock()
	fault := which()
	r.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault()
}

func (r *replica) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	if err := r.fault(func() func() error { return r.before }); err != nil {
		return err
	}
	if err := r.Store.Atomically(ctx, fn); err != nil {
		return err
	}
	return r.fault(func() func() error { return r.after })
}

func (r *replica) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	if err := r.fault(func() func() error { return r.before }); err != nil {
		return err
	}
	return r.Store.View(ctx, fn)
}

// run starts the replica with these duties beside those of its leadership.
func (r *replica) run(duties ...watch.Duty) *replica {
	r.c.t.Helper()
	w := &watch.Watch{
		Clock: r.clock, IDs: idstest.New(uint64(len(r.name))), Log: slog.New(slog.NewTextHandler(r.log, nil)), Leader: r.Leadership,
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.done = stop, make(chan error, 1)
	go func() { r.done <- w.Run(ctx, duties...) }()
	r.c.t.Cleanup(stop)
	r.settle(waiting(len(duties)))
	return r
}

// hold starts the replica with one duty whose runs last until their context ends, and returns once the first has begun.
// It begins with the leadership, so that the duty's timer is pending all the while.
func (r *replica) hold(left func()) {
	r.c.t.Helper()
	entered := make(chan struct{}, 1)
	r.fails(storetest.Unavailable, nil)
	r.run(watch.Duty{Name: "long", Every: time.Hour, Run: func(ctx context.Context) error {
		entered <- struct{}{}
		<-ctx.Done()
		left()
		return ctx.Err()
	}})
	r.fails(nil, nil)
	r.until(time.Second, waiting(1), r.Leads)
	soon(r.c.t, entered)
	r.entered = entered
}

// waiting is how many timers a replica with this many duties of its own has pending.
func waiting(duties int) int { return duties + 2 }

// settle waits until so many duties wait for their time.
func (r *replica) settle(n int) {
	r.c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.clock.AwaitTimers(ctx, n); err != nil {
		r.c.t.Fatalf("the duties of %s did not settle: %v", r.name, err)
	}
}

const tick = 50 * time.Millisecond

// advance moves the replica's clock, and lets what falls due be done; n duties then wait for their time.
func (r *replica) advance(d time.Duration, n int) {
	r.c.t.Helper()
	for ; d > 0; d -= tick {
		r.clock.Advance(tick)
		r.settle(n)
	}
}

// until moves the clock until what is awaited has come, and says how long that took.
func (r *replica) until(most time.Duration, n int, done func() bool) time.Duration {
	r.c.t.Helper()
	for took := time.Duration(0); ; took += tick {
		if done() {
			return took
		}
		if took >= most {
			r.c.t.Fatalf("%s: not within %s\n%s", r.name, most, r.log)
		}
		r.advance(tick, n)
	}
}

func (r *replica) ends() {
	r.c.t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		if err != nil {
			r.c.t.Fatalf("%s ended with %v", r.name, err)
		}
	case <-time.After(10 * time.Second):
		r.c.t.Fatalf("%s goes on after its context ended", r.name)
	}
}

// soon receives what comes without the clock.
func soon[V any](t *testing.T, c <-chan V) (v V) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("it does not come")
	}
	return v
}

// row is the leadership as it is stored; false where there is none.
func (c *cluster) row() (row leadership.Record, found bool) {
	c.t.Helper()
	err := c.mem.View(context.Background(), func(ctx context.Context, r *store.Roles) error {
		t, err := r.Leaders.Get(ctx, "sweeps")
		if err == nil {
			row, found = t.Record(), true
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return row, found
}

// tally counts the runs of a duty.
type tally struct {
	mu      sync.Mutex
	runs    []string
	changed chan struct{}
}

func newTally() *tally { return &tally{changed: make(chan struct{})} }

func (y *tally) duty(name string, every time.Duration, everywhere bool, by string) watch.Duty {
	return watch.Duty{Name: name, Every: every, Everywhere: everywhere, Run: func(context.Context) error {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.runs = append(y.runs, by)
		close(y.changed)
		y.changed = make(chan struct{})
		return nil
	}}
}

func (y *tally) by(name string) (n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, by := range y.runs {
		if by == name {
			n++
		}
	}
	return n
}

// await waits until a replica has run the duty so often.
func (y *tally) await(t *testing.T, name string, n int) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		y.mu.Lock()
		changed := y.changed
		y.mu.Unlock()
		if y.by(name) >= n {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s ran it %d times, want %d", name, y.by(name), n)
		}
	}
}
