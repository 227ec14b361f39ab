package proof

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Options are how a proof is run.
type Options struct {
	Only     func(Probe) bool // nil for all
	Parallel int              // probes at once; 0 is 16
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
	r.lost = map[Listener]string{}
	r.batch(ctx, before, 1)
	for _, done := range r.results {
		if done.Verdict != Proven {
			r.lost[done.Listener] = done.ID + " was " + string(done.Verdict) + ": " + cmp.Or(done.Why, done.Saw)
		}
	}
	parts := split(probes)
	var lanes sync.WaitGroup
	lanes.Go(func() { r.batch(ctx, parts[inTurn], 1) })
	lanes.Go(func() { r.batch(ctx, parts[beside], cmp.Or(max(o.Parallel, 0), 16)) })
	lanes.Wait()
	r.batch(ctx, parts[alone], 1)
	r.lost = map[Listener]string{}
	r.batch(ctx, after, 1)
	slices.SortFunc(r.results, func(a, b Result) int { return cmp.Compare(a.ID, b.ID) })
	return r.results
}

func split(probes []Probe) map[lane][]Probe {
	parts := map[lane][]Probe{}
	for _, p := range probes {
		parts[p.lane] = append(parts[p.lane], p)
	}
	return parts
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
	seen, err := p.run(ctx, r.site)
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

func texts(must []Expect) []string {
	out := make([]string, len(must))
	for i, e := range must {
		out[i] = e.String()
	}
	return out
}
