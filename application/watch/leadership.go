package watch

import (
	"context"
	"log/slog"
	"sync"

	"berth/domain/leadership"
	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/store"
)

// sweeps names the one row of leadership: whoever has it runs all duties that one replica is enough for.
const sweeps = "sweeps"

// Leadership is the leader among several replicas, found through the database that they share. A replica asks for it by
// its Duties, which a Watch runs; all other methods are safe for concurrent use.
type Leadership struct {
	store  store.Store
	clock  clock.Clock
	log    *slog.Logger
	timing leadership.Timing
	holder string            // this process: one that starts again is another
	watch  *leadership.Watch // of the look's own

	mu    sync.Mutex
	own   leadership.Tenure
	lost  context.Context // ends with the present leadership; nil where there is none
	quit  context.CancelFunc
	taken chan struct{} // closed, and replaced, when a leadership begins
}

var _ Leader = (*Leadership)(nil)

// NewLeadership is for one process. Fault: Invalid leadership_timing_unsafe.
func NewLeadership(s store.Store, c clock.Clock, i ids.Source, log *slog.Logger, t leadership.Timing) (*Leadership, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	return &Leadership{
		store: s, clock: c, log: log, timing: t, holder: i.New("replica"), watch: leadership.NewWatch(t), taken: make(chan struct{}),
	}, nil
}

// Duties look after the leadership. That it ends in time is a duty of its own, since a look can hang with the database.
func (l *Leadership) Duties() []Duty {
	return []Duty{
		{Name: "leadership", Every: l.timing.Look, Everywhere: true, Run: l.look},
		{Name: "leadership-end", Every: l.timing.Look / 2, Everywhere: true, Run: l.end},
	}
}

// Leads says whether this replica leads now.
func (l *Leadership) Leads() bool { return l.tenure().Leads(l.clock.Elapsed()) }

func (l *Leadership) tenure() leadership.Tenure {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own
}

// Lead is for one run of a duty.
func (l *Leadership) Lead(ctx context.Context) (context.Context, context.CancelFunc, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.own.Leads(l.clock.Elapsed()) {
		return nil, nil, false
	}
	leading, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.lost, cancel)
	return leading, func() { stop(); cancel() }, true
}

// Taken returns a channel that is closed when this replica next begins to lead.
func (l *Leadership) Taken() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}

// begin takes what was claimed or renewed up as the present leadership. An answer that came too late begins nothing.
func (l *Leadership) begin(ctx context.Context, own leadership.Tenure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !own.Leads(l.clock.Elapsed()) {
		return
	}
	if l.quit == nil {
		l.lost, l.quit = context.WithCancel(context.Background())
		close(l.taken)
		l.taken = make(chan struct{})
		l.log.InfoContext(ctx, "this replica leads the sweeps", "replica", l.holder, "term", own.Number)
	}
	l.own = own
}

// quitted ends the present leadership and returns it; ok is false where there is none.
func (l *Leadership) quitted() (own leadership.Tenure, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quit == nil {
		return leadership.Tenure{}, false
	}
	l.quit()
	own, l.own, l.lost, l.quit = l.own, leadership.Tenure{}, nil, nil
	return own, true
}

func (l *Leadership) lose(ctx context.Context, why string) {
	if own, ok := l.quitted(); ok {
		l.log.WarnContext(ctx, "this replica leads the sweeps no more", "replica", l.holder, "term", own.Number, "why", why)
	}
}

// end ends a leadership that was not renewed in time, whatever became of its renewal.
func (l *Leadership) end(ctx context.Context) error {
	if !l.Leads() {
		l.lose(ctx, "it was not renewed in time")
	}
	return nil
}
