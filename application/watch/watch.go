package watch

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"berth/domain/fault"
	"berth/ports/clock"
	"berth/ports/ids"
)

// Duty is something to do again and again.
type Duty struct {
	Name       string
	Every      time.Duration // from the end of one run to the start of the next, shortened by up to a fifth
	Everywhere bool          // each replica has something of its own to do; else the one that leads is enough
	Run        func(context.Context) error
}

// Watch runs duties.
type Watch struct {
	Clock  clock.Clock
	IDs    ids.Source // what makes replicas that started together drift apart
	Log    *slog.Logger
	Leader Leader
}

// Run runs every duty at once and then at its interval until the context ends, and returns when all have and the
// leadership was given up. A duty never overlaps itself and waits for no other; an error or a panic of one run is logged,
// and the next comes all the same. What only the leader does is asked for at its interval on every replica, and runs at
// once when this one begins to lead; the context of a run ends with the leadership. Fault: Invalid invalid_duty, before
// anything ran.
func (w *Watch) Run(ctx context.Context, duties ...Duty) error {
	duties = append(w.Leader.Duties(), duties...)
	if err := check(duties); err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, d := range duties {
		all.Go(func() { w.keep(ctx, d) })
	}
	all.Wait()
	w.Leader.Resign(context.WithoutCancel(ctx))
	return nil
}

func check(duties []Duty) error {
	names := map[string]bool{}
	for _, d := range duties {
		if d.Name == "" || names[d.Name] || d.Every <= 0 || d.Run == nil {
			return fault.New(fault.Invalid, "invalid_duty", "duty %q needs a name of its own, an interval and something to run",
				d.Name)
		}
		names[d.Name] = true
	}
	return nil
}

func (w *Watch) keep(ctx context.Context, d Duty) {
	timer := w.Clock.NewTimer(0)
	defer timer.Stop()
	var taken <-chan struct{}
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		case <-taken:
		}
		if ctx.Err() != nil { // both were ready
			return
		}
		if !d.Everywhere { // asked for before the turn, so that a leadership which begins after it is not missed
			taken = w.Leader.Taken()
		}
		failures = w.turn(ctx, d, failures)
		timer.Reset(w.jittered(d.Every))
	}
}

// turn runs a duty where that is this replica's to do. Failures are counted within one leadership.
func (w *Watch) turn(ctx context.Context, d Duty, failures int) int {
	if d.Everywhere {
		return w.once(ctx, d, failures)
	}
	ctx, release, ok := w.Leader.Lead(ctx)
	if !ok {
		return 0
	}
	defer release()
	return w.once(ctx, d, failures)
}

// once runs a duty that failed so many times on end, and returns how many that are now. A failure that lasts is logged
// at ever longer intervals: at the 1st, 2nd, 4th, 8th time.
func (w *Watch) once(ctx context.Context, d Duty, failures int) int {
	start := w.Clock.Elapsed()
	err := guarded(ctx, d)
	took := w.Clock.Elapsed() - start
	switch {
	case ctx.Err() != nil: // what a stop, or the end of the leadership, interrupted is no failure
		return failures
	case err != nil:
		failures++
		if failures&(failures-1) == 0 {
			w.Log.ErrorContext(ctx, "duty failed", "duty", d.Name, "times", failures, "took", took, "error", err)
		}
		return failures
	case failures > 0:
		w.Log.InfoContext(ctx, "duty works again", "duty", d.Name, "failed", failures)
	case took > d.Every:
		w.Log.WarnContext(ctx, "duty takes longer than its interval", "duty", d.Name, "took", took, "every", d.Every)
	}
	return 0
}

// guarded turns a panic into an error.
func guarded(ctx context.Context, d Duty) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return d.Run(ctx)
}

// jittered shortens an interval by up to a fifth, at random.
func (w *Watch) jittered(d time.Duration) time.Duration {
	part := time.Duration(binary.BigEndian.Uint16(w.IDs.Secret(2)))
	return d - d/5*part/(1<<16)
}
