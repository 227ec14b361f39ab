package relay

import (
	"context"
	"time"
)

// fence closes what is open when it may not be any more. Asking the gate needs no fence: it is for what does not ask.
type fence struct {
	*Node
	wake chan struct{}
}

const (
	// fenceStep is how long the fence sleeps at most while something is open. A timer of a machine that was suspended is
	// late by as long as that lasted, and a clock that jumped moves no timer.
	fenceStep = 50 * time.Millisecond
	fenceIdle = time.Second
	// fenceLeast keeps the fence from spinning around the end of something.
	fenceLeast = time.Millisecond
)

func (f *fence) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *fence) run(ctx context.Context) {
	for {
		wait := f.enforce(ctx)
		timer := f.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			f.close(errStopping())
			f.enforce(ctx)
			return
		case <-f.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// enforce looks once at the clocks and at all that is open, and says how long nothing can change by itself.
func (f *fence) enforce(ctx context.Context) time.Duration {
	jumped := f.look(ctx)
	closing, wait := f.denied()
	for g, err := range closing {
		f.counts.closed.Add(1)
		g.close(err)
	}
	if jumped {
		f.renewAll()
		f.beats.rouse()
	}
	return wait
}

// look tells of what changed by the passing of time alone.
func (f *fence) look(ctx context.Context) (jumped bool) {
	s := f.state
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.read()
	gap, jumped := s.watch.Jump(now)
	if jumped {
		s.distrust(now.Elapsed)
		f.counts.jumps.Add(1)
		f.Log.WarnContext(ctx, "the clock jumped: the lease counts as over, and everything is asked for anew",
			"jump", gap.Round(time.Millisecond))
	}
	if alive := s.granted.Alive(now.Elapsed); alive != s.serving {
		s.serving = alive
		if !alive {
			f.counts.lapses.Add(1)
			f.Log.WarnContext(ctx, "the lease is over: nothing is served until the control plane grants another one",
				"epoch", s.granted.Epoch)
		}
	}
	return jumped
}

// denied takes out what is to be closed, and says how long the rest may stay open at most.
func (f *fence) denied() (closing map[*guard]error, wait time.Duration) {
	s := f.state
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.read()
	closing = map[*guard]error{}
	wait = fenceIdle
	for g := range s.guarded {
		if _, err := s.judge(g.tenant, reading(), now); err != nil {
			closing[g] = err
			delete(s.guarded, g)
			continue
		}
		wait = min(wait, fenceStep)
	}
	if s.serving {
		wait = min(wait, s.granted.SentAt+s.granted.For-now.Elapsed)
	}
	return closing, max(wait, fenceLeast)
}
