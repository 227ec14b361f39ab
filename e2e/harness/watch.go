package harness

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// Sample is one look at what a process may do for a tenant. What it answered was so at some instant between Asked and
// Told.
type Sample struct {
	Process     string
	Asked, Told time.Time
	Debug       DebugTenant
	Err         error // where it did not answer
}

// Watch looks at processes again and again.
type Watch struct {
	stop  context.CancelFunc
	group sync.WaitGroup
	mu    sync.Mutex
	seen  []Sample
}

const lookEvery = 20 * time.Millisecond

// NewWatch looks every 20 ms at what each of the processes may do for a tenant, until Samples is called or the test ends.
func NewWatch(tb testing.TB, tenant string, processes ...*Relay) *Watch {
	tb.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &Watch{stop: stop}
	for _, p := range processes {
		w.group.Go(func() { w.look(ctx, tenant, p) })
	}
	tb.Cleanup(func() { w.Samples() })
	return w
}

func (w *Watch) look(ctx context.Context, tenant string, p *Relay) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		s := Sample{Process: p.Metrics, Asked: time.Now()}
		var all map[string]DebugTenant
		all, s.Err = p.Debug(ctx)
		s.Told, s.Debug = time.Now(), all[tenant]
		if ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		w.seen = append(w.seen, s)
		w.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Samples ends the watch and returns what was seen, in the order in which it was told.
func (w *Watch) Samples() []Sample {
	w.stop()
	w.group.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.seen, func(a, b Sample) int { return a.Told.Compare(b.Told) })
	return w.seen
}

// Now is how many samples there are so far.
func (w *Watch) Now() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.seen) }

// OneWriter fails the test where two processes could write at a time. At one generation of the placement only one node
// may, and of its processes the youngest that did; and nobody who is asked after somebody was seen to write may do so at
// an earlier generation, or as an older process of the same node.
func OneWriter(t testing.TB, samples []Sample) {
	t.Helper()
	var writes []Sample
	for _, s := range samples {
		if s.Err == nil && s.Debug.Write {
			writes = append(writes, s)
		}
	}
	for i, s := range writes {
		for _, before := range writes[:i] {
			now, was := s.Debug, before.Debug
			switch {
			case now.Generation == was.Generation && now.Node != was.Node:
				t.Errorf("%s and %s both may write at generation %d", was.Node, now.Node, now.Generation)
			case !s.Asked.After(before.Told):
				continue
			case now.Generation < was.Generation:
				t.Errorf("%s may write at generation %d after %s could at %d", now.Node, now.Generation, was.Node, was.Generation)
			case now.Node == was.Node && now.Heartbeat < was.Heartbeat:
				t.Errorf("the older process of %s may write %s after the younger could", now.Node, s.Asked.Sub(before.Told))
			default:
				continue
			}
			return
		}
	}
	if len(writes) == 0 {
		t.Error("nobody was seen to write")
	}
}

// NeverDenied fails the test where a process that was watched could not write at some time.
func NeverDenied(t testing.TB, samples []Sample) {
	t.Helper()
	for _, s := range samples {
		if s.Err != nil || !s.Debug.Write {
			t.Errorf("%s could not write: %+v %v", s.Process, s.Debug, s.Err)
			return
		}
	}
	if len(samples) == 0 {
		t.Error("nobody looked")
	}
}
