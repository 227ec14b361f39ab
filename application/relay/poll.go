package relay

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"berth/domain/fault"
	"berth/ports/authority"
)

// known is what the node believes of every tenant that it holds, in batches that a poll takes.
func (n *Node) known() [][]authority.Known {
	s := n.state
	s.mu.RLock()
	var all []authority.Known
	for id, t := range s.tenants {
		if t.polled() {
			p := t.view.Position()
			all = append(all, authority.Known{Tenant: id, Generation: p.Generation, Revision: p.Revision})
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(all, func(a, b authority.Known) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return slices.Collect(slices.Chunk(all, authority.MaxPoll))
}

// pollSafely asks for changes every few seconds, whatever becomes of the hints (A4).
func (n *Node) pollSafely(ctx context.Context) {
	var tries backoff
	for n.registered(ctx) {
		sent := n.Clock.Elapsed()
		err := n.pollAll(ctx)
		if err == nil {
			tries = backoff{}
			if !n.pause(ctx, n.chance.within(n.settings.Poll), nil) {
				return
			}
			continue
		}
		if !n.failed(ctx, "poll", err, sent, &tries) {
			return
		}
	}
}

func (n *Node) pollAll(ctx context.Context) (err error) {
	for _, batch := range n.known() {
		timed, cancel := context.WithTimeout(ctx, n.settings.Timeout)
		_, one := n.poll(timed, batch, 0)
		err = cmp.Or(one, err)
		cancel()
	}
	return err
}

// poll asks once, and says of how many tenants a full snapshot is due. The ages of what it confirms count from before it
// was sent (A6).
func (n *Node) poll(ctx context.Context, batch []authority.Known, wait time.Duration) (due int, err error) {
	sent := n.Clock.Elapsed()
	differing, err := n.Authority.Authorizations.Poll(ctx, batch, wait)
	if err != nil {
		return 0, err
	}
	n.counts.polls.Add(1)
	anew := n.learn(batch, differing, sent)
	for _, id := range anew {
		n.queue.add(id, 0)
	}
	if len(differing) > 0 {
		n.fence.rouse()
	}
	for _, d := range differing {
		n.rooms.changed(d.Tenant)
		n.rooms.remember(d.Tenant, d.Delta.Revoked())
	}
	return len(anew), nil
}

// learn takes a poll's answer, and returns the tenants of which a full snapshot is due.
func (n *Node) learn(batch []authority.Known, differing []authority.Differing, sent time.Duration) (due []string) {
	s := n.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.watch.Trusts(sent) {
		return nil
	}
	named := make(map[string]bool, len(differing))
	for _, d := range differing {
		named[d.Tenant] = true
		if t := s.tenants[d.Tenant]; t != nil && t.view != nil && n.differs(t, d, sent) {
			t.stale = true
			due = append(due, d.Tenant)
		}
	}
	for _, k := range batch {
		t := s.tenants[k.Tenant]
		if named[k.Tenant] || t == nil || t.view == nil {
			continue
		}
		// What was learned since is newer than what is confirmed, and stays as old as it is.
		if t.view.Confirm(k.Generation, k.Revision, sent) == nil {
			t.renew()
		}
	}
	return due
}

// differs takes what is told of one tenant, and says whether a full snapshot is due.
func (n *Node) differs(t *tenant, d authority.Differing, sent time.Duration) bool {
	switch d.Result {
	case authority.NotFound:
		t.forget()
		return true // the assignments say what became of it
	case authority.NeedsSnapshot:
		return true
	case authority.HasDelta:
	}
	at := t.view.Position()
	if d.Delta.Generation == at.Generation && d.Delta.To <= at.Revision {
		return false // it came by another way
	}
	err := t.view.Apply(d.Delta, sent)
	switch {
	case err == nil:
		n.counts.deltas.Add(1)
		t.renew()
		return d.PlacementVersion > at.PlacementVersion
	case fault.SlugOf(err) == "answer_older":
		n.counts.older.Add(1)
		return false
	}
	return true
}

// renew carries the view's age over to what the right to write rests on (A6).
func (t *tenant) renew() {
	if at, ok := t.view.SentAt(); ok && t.held.Generation == t.view.Position().Generation {
		t.held.AskedAt = max(t.held.AskedAt, at)
	}
}

const (
	newsPause = 200 * time.Millisecond // from one round to the next, so that many tenants which come one by one make few rounds
	newsLeast = 10 * time.Millisecond
)

// awaitNews waits for hints of changes, with one long poll for each batch of tenants, so that they arrive at once (A4).
// Nothing depends on it.
func (n *Node) awaitNews(ctx context.Context) {
	for n.registered(ctx) {
		if !n.news.until(ctx, func() bool { return len(n.known()) > 0 }) {
			return
		}
		began := n.Clock.Elapsed()
		n.newsRound(ctx, n.known())
		if !n.pause(ctx, max(newsLeast, newsPause-(n.Clock.Elapsed()-began)), nil) {
			return
		}
	}
}

// newsRound polls until there are other tenants to ask about than those of the batches, or one of the polls failed.
func (n *Node) newsRound(ctx context.Context, batches [][]authority.Known) {
	round, end := context.WithCancel(ctx)
	defer end()
	named := tenantsOf(batches) // before each batch belongs to its poll
	var all sync.WaitGroup
	for _, batch := range batches {
		all.Go(func() {
			defer end()
			n.newsOfBatch(round, batch)
		})
	}
	all.Go(func() {
		n.news.until(round, func() bool { return !n.holds(named) })
		end()
	})
	all.Wait()
}

func (n *Node) newsOfBatch(round context.Context, batch []authority.Known) {
	var failures, answers backoff
	for n.newsOf(round, batch) {
		sent := n.Clock.Elapsed()
		timed, cancel := context.WithTimeout(round, n.settings.Wait+requestTimeout)
		due, err := n.poll(timed, batch, n.settings.Wait)
		cancel()
		switch {
		case round.Err() != nil:
			return
		case err != nil:
			if !n.failed(round, "hints", err, sent, &failures) {
				return
			}
		case due == 0:
			failures, answers = backoff{}, backoff{}
		default: // until the snapshots are there each poll would be answered at once
			if !n.awaitTaken(round, batch, answers.next(n.chance, nil, time.Second)) {
				return
			}
		}
	}
}

// awaitTaken waits until no snapshot of a batch is due any more, so that the next hint is not missed for long, though no longer
// than given. It is false once the round is over.
func (n *Node) awaitTaken(round context.Context, batch []authority.Known, most time.Duration) bool {
	timed, cancel := context.WithTimeout(round, most)
	defer cancel()
	n.taken.until(timed, func() bool { return !n.due(batch) })
	return round.Err() == nil
}

// due says whether a snapshot is of one of the tenants of a batch.
func (n *Node) due(batch []authority.Known) bool {
	n.state.mu.RLock()
	defer n.state.mu.RUnlock()
	return slices.ContainsFunc(batch, func(k authority.Known) bool {
		t := n.state.tenants[k.Tenant]
		return t != nil && t.view != nil && t.stale
	})
}

// newsOf brings a batch up to what is known by now. It is false once the round is over, and where a tenant is held no more.
func (n *Node) newsOf(round context.Context, batch []authority.Known) bool {
	n.state.mu.RLock()
	defer n.state.mu.RUnlock()
	for i, k := range batch {
		t := n.state.tenants[k.Tenant]
		if t == nil || t.view == nil {
			return false
		}
		p := t.view.Position()
		batch[i].Generation, batch[i].Revision = p.Generation, p.Revision
	}
	return round.Err() == nil
}

func tenantsOf(batches [][]authority.Known) (ids []string) {
	for _, b := range batches {
		for _, k := range b {
			ids = append(ids, k.Tenant)
		}
	}
	return ids
}

// holds says whether the tenants named, each once, are those that are held, and no other.
func (n *Node) holds(named []string) bool {
	n.state.mu.RLock()
	defer n.state.mu.RUnlock()
	held := 0
	for _, t := range n.state.tenants {
		if t.polled() {
			held++
		}
	}
	return held == len(named) && !slices.ContainsFunc(named, func(id string) bool {
		t := n.state.tenants[id]
		return t == nil || !t.polled()
	})
}

// polled says whether the tenant is one to ask about. The caller holds the lock.
func (t *tenant) polled() bool { return t.view != nil && t.told != nil }
