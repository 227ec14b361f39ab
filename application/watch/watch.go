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
	Name  string
	Every time.Duration // from the end of one run to the start of the next, shortened by up to a fifth
	Run   func(context.Context) error
}

// Watch runs duties.
type Watch struct {
	Clock clock.Clock
	IDs   ids.Source // what makes replicas that started together drift apart
	Log   *slog.Logger
}

// Run runs every duty at once and then at its interval until the context ends, and returns when all have. A duty never
// overlaps itself and waits for no other; an error or a panic of one run is logged, and the next comes all the same.
// Fault: Invalid invalid_duty, before anything ran.
func (w *Watch) Run(ctx context.Context, duties ...Duty) error {
	if err := check(duties); err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, d := range duties {
		all.Go(func() { w.keep(ctx, d) })
	}
	all.Wait()
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
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		if ctx.Err() != nil { // both were ready
			return
		}
		failures = w.once(ctx, d, failures)
		timer.Reset(w.jittered(d.Every))
	}
}

// once runs a duty that failed so many times on end, and returns how many that are now. A failure that lasts is logged
// at ever longer intervals: at the 1st, 2nd, 4th, 8th time.
func (w *Watch) once(ctx context.Context, d Duty, failures int) int {
	start := w.Clock.Elapsed()
	err := guarded(ctx, d)
	took := w.Clock.Elapsed() - start
	switch {
	case ctx.Err() != nil: // what a stop interrupted is no failure
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
