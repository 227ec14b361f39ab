package pgnotify

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// serve uses one connection until it fails or the context ends. It calls up once, when the connection has proved to work.
type serve func(ctx context.Context, l *link, up func()) error

// keep has run serve one connection after another until the context ends.
func (r *Relay) keep(ctx context.Context, c *connection, run serve) {
	log := loss{log: r.options.Log.With("connection", c.name)}
	wait := r.timing.RetryLeast
	for {
		worked, err := r.once(ctx, c, run, log.over)
		if ctx.Err() != nil {
			return
		}
		log.report(err)
		if worked >= r.timing.RetryMost { // what fails again soon is no reason to hurry
			wait = r.timing.RetryLeast
		}
		if !pause(ctx, jittered(wait)) {
			return
		}
		wait = min(2*wait, r.timing.RetryMost)
	}
}

// once makes one connection and returns how long it worked.
func (r *Relay) once(ctx context.Context, c *connection, run serve, over func()) (time.Duration, error) {
	l, err := r.dial(ctx, c.name)
	if err != nil {
		return 0, err
	}
	defer l.close()
	defer c.up.Store(false)
	var since time.Time
	err = run(ctx, l, func() {
		since = time.Now()
		c.connects.Add(1)
		c.up.Store(true)
		over()
	})
	if since.IsZero() {
		return 0, err
	}
	return time.Since(since), err
}

// jittered is between half and all of d, so that replicas that lost a server together do not come back together.
func jittered(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) //nolint:gosec // G404: it is no secret
}

// pause waits, and reports whether the context is still there.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// again is how often a loss that lasts is logged.
const again = time.Minute

// loss logs that a connection is down, seldom, and that it is back.
type loss struct {
	log    *slog.Logger
	down   bool
	logged time.Time
}

func (l *loss) report(err error) {
	if l.down && time.Since(l.logged) < again {
		return
	}
	l.down, l.logged = true, time.Now()
	l.log.Warn("change hints do not pass between replicas, which find changes by polling alone", "reason", describe(err))
}

func (l *loss) over() {
	if l.down {
		l.log.Info("change hints pass between replicas again")
	}
	l.down = false
}
