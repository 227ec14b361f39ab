package proof

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Options are how a proof is run.
type Options struct {
	Only     func(Probe) bool // nil for all
	Parallel int              // probes at once, for each listener; 0 is 8
	Progress func(done, of int, last Result)
}

// Probes are all there are, in the order of their ids.
func Probes() []Probe {
	all := slices.Concat(certificateProbes(), headerProbes(), framingProbes(), http2Probes(), targetProbes(), listenerProbes(), limitProbes())
	slices.SortFunc(all, func(a, b Probe) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Run tries everything. Controls go first: where what must work does not, a refusal at that listener proves nothing. They
// are repeated at the end, so that a deployment which fell over is not taken for one that refuses. A context that ends
// leaves the rest unproven.
func Run(ctx context.Context, s *Site, o Options) []Result {
	r := &runner{site: s, options: o}
	before, probes, after := controls("-before"), r.chosen(Probes()), controls("-after")
	r.total = len(before) + len(probes) + len(after)
	r.lost = make(map[Listener]string)
	r.batch(ctx, before, 1)
	for _, done := range r.results {
		if done.Verdict != Proven && !done.Unable {
			r.lost[done.Listener] = done.ID + " was " + string(done.Verdict) + ": " + cmp.Or(done.Why, done.Saw)
		}
	}
	var lanes sync.WaitGroup
	for _, l := range Listeners() { // each by itself: one that answers only so many requests a second holds up no other
		lanes.Go(func() { r.batch(ctx, in(beside, l, probes), cmp.Or(max(o.Parallel, 0), 8)) })
		lanes.Go(func() { r.batch(ctx, in(inTurn, l, probes), 1) })
	}
	lanes.Wait()
	for _, l := range Listeners() {
		r.batch(ctx, in(alone, l, probes), 1)
	}
	r.lost = make(map[Listener]string)
	r.batch(ctx, after, 1)
	slices.SortFunc(r.results, func(a, b Result) int { return cmp.Compare(a.ID, b.ID) })
	return r.results
}

func in(part lane, l Listener, probes []Probe) []Probe {
	var out []Probe
	for _, p := range probes {
		if p.lane == part && p.Listener == l {
			out = append(out, p)
		}
	}
	// Those that wait for a bound begin first.
	slices.SortStableFunc(out, func(a, b Probe) int { return cmp.Compare(waits(a), waits(b)) })
	return out
}

func waits(p Probe) int {
	if p.Kind == KindLimits {
		return 0
	}
	return 1
}

type runner struct {
	site    *Site
	options Options
	total   int
	lost    map[Listener]string // why a listener's probes would prove nothing; only read while they run

	mu      sync.Mutex
	results []Result
}

func (r *runner) chosen(all []Probe) []Probe {
	if r.options.Only == nil {
		return all
	}
	return slices.DeleteFunc(all, func(p Probe) bool { return !r.options.Only(p) })
}

func (r *runner) batch(ctx context.Context, probes []Probe, parallel int) {
	turns := make(chan Probe)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for p := range turns {
				r.note(r.try(ctx, p))
			}
		})
	}
	for _, p := range probes {
		turns <- p
	}
	close(turns)
	workers.Wait()
}

func (r *runner) note(done Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, done)
	if r.options.Progress != nil {
		r.options.Progress(len(r.results), r.total, done)
	}
}

func (r *runner) try(ctx context.Context, p Probe) Result {
	out := Result{ID: p.ID, Kind: p.Kind, Listener: p.Listener, Tries: p.Tries, Must: texts(p.Must), Verdict: NotProven}
	if why := r.lost[p.Listener]; why != "" {
		out.Why = why
		return out
	}
	if ctx.Err() != nil {
		out.Why = "it was stopped first"
		return out
	}
	start := time.Now()
	seen, err := r.unhurried(ctx, p)
	out.Took = time.Since(start).Milliseconds()
	switch {
	case err != nil:
		out.Why = err.Error()
		_, known := errors.AsType[unable](err)
		out.Unable = known
	case ctx.Err() != nil:
		out.Why = "it was stopped meanwhile"
	case meets(p.Must, seen):
		out.Saw, out.Verdict = seen.String(), Proven
	default:
		out.Saw, out.Verdict = seen.String(), Failed
	}
	return out
}

// unhurried tries again where the answer is only that it was asked too often, which says nothing about the attempt.
func (r *runner) unhurried(ctx context.Context, p Probe) (Outcome, error) {
	pause := time.NewTicker(time.Second)
	defer pause.Stop()
	for range 120 {
		seen, err := p.run(ctx, r.site)
		if err != nil || seen.Status != http.StatusTooManyRequests {
			return seen, err
		}
		select {
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-pause.C:
		}
	}
	return Outcome{}, trouble("the listener answers only so many requests of one address, for two minutes now")
}

func texts(must []Expect) []string {
	out := make([]string, len(must))
	for i, e := range must {
		out[i] = e.String()
	}
	return out
}
