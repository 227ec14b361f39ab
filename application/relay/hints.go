package relay

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"berth/ports/authority"
)

const (
	newsGather = 20 * time.Millisecond // so that tenants which come at once make one poll
	// maxAdditions is how many polls come to those of a round, each for the tenants that came since, before all are put
	// together anew: while a new round begins nothing is waited for.
	maxAdditions = 12
)

// awaitNews waits for hints of changes, by long polls, so that they arrive at once (A4). Nothing depends on it.
func (n *Node) awaitNews(ctx context.Context) {
	for n.registered(ctx) {
		r := &newsRound{Node: n, named: map[string]struct{}{}}
		r.run(ctx)
		if !n.pause(ctx, newsGather, nil) {
			return
		}
	}
}

// newsRound is one long poll for each batch of tenants.
type newsRound struct {
	*Node
	mu    sync.Mutex
	named map[string]struct{} // the tenants that some poll names
}

func (r *newsRound) run(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	for range maxAdditions {
		if !r.news.until(ctx, func() bool { return len(r.unnamed()) > 0 }) || !r.pause(ctx, newsGather, nil) {
			return
		}
		for batch := range slices.Chunk(r.unnamed(), authority.MaxPoll) {
			r.name(batch)
			all.Go(func() { r.follow(ctx, slices.Clone(batch)) })
		}
	}
}

// unnamed is what the node believes of the tenants that no poll of this round names.
func (r *newsRound) unnamed() (out []authority.Known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.mu.RLock()
	defer r.state.mu.RUnlock()
	for id, t := range r.state.tenants {
		if _, is := r.named[id]; !is && t.polled() {
			p := t.view.Position()
			out = append(out, authority.Known{Tenant: id, Generation: p.Generation, Revision: p.Revision})
		}
	}
	slices.SortFunc(out, func(a, b authority.Known) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return out
}

func (r *newsRound) name(batch []authority.Known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range batch {
		r.named[k.Tenant] = struct{}{}
	}
}

// follow polls about a batch until the round is over, or nothing of it is left.
func (r *newsRound) follow(ctx context.Context, batch []authority.Known) {
	var failures, answers backoff
	for batch = r.current(batch); len(batch) > 0 && ctx.Err() == nil; batch = r.current(batch) {
		sent := r.Clock.Elapsed()
		timed, cancel := context.WithTimeout(ctx, r.settings.Wait+requestTimeout)
		due, err := r.poll(timed, batch, r.settings.Wait)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !r.failed(ctx, "hints", err, sent, &failures) {
				return
			}
		case due == 0:
			failures, answers = backoff{}, backoff{}
		default: // until the snapshots are there each poll would be answered at once
			r.awaitTaken(ctx, batch, answers.next(r.chance, nil, time.Second))
		}
	}
}

// current brings a batch up to what is known by now, and leaves out what is held no more: should that come back, another poll
// names it.
func (r *newsRound) current(batch []authority.Known) []authority.Known {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.mu.RLock()
	defer r.state.mu.RUnlock()
	kept := batch[:0]
	for _, k := range batch {
		t := r.state.tenants[k.Tenant]
		if t == nil || !t.polled() {
			delete(r.named, k.Tenant)
			continue
		}
		p := t.view.Position()
		k.Generation, k.Revision = p.Generation, p.Revision
		kept = append(kept, k)
	}
	return kept
}

// awaitTaken waits until no snapshot of a batch is due any more, so that the next hint is not missed for long, though no longer
// than given.
func (r *newsRound) awaitTaken(ctx context.Context, batch []authority.Known, most time.Duration) {
	timed, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	r.taken.until(timed, func() bool { return !r.due(batch) })
}

// due says whether a snapshot is of one of the tenants of a batch.
func (r *newsRound) due(batch []authority.Known) bool {
	r.state.mu.RLock()
	defer r.state.mu.RUnlock()
	return slices.ContainsFunc(batch, func(k authority.Known) bool {
		t := r.state.tenants[k.Tenant]
		return t != nil && t.view != nil && t.stale
	})
}
