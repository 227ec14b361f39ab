package relay

import (
	"context"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/authority"
	"berth/ports/engine"
)

// snapshot takes a full snapshot of a tenant (A2). Its age counts from before the request (A6).
func (n *Node) snapshot(ctx context.Context, id string, generation int64) error {
	sent := n.Clock.Elapsed()
	timed, cancel := context.WithTimeout(ctx, n.settings.Timeout)
	in, err := n.Authority.Authorizations.Snapshot(timed, id, generation)
	cancel()
	if err != nil {
		if ctx.Err() == nil {
			n.counts.failures.Add(1)
			n.keeper.heard(ctx, err, sent)
		}
		if fault.KindOf(err) == fault.NotFound {
			n.unheld(id)
		}
		return err
	}
	if err := n.sawOf(ctx, in); err != nil {
		return err
	}
	first, err := n.state.accept(n, in, sent)
	if err != nil {
		n.counts.older.Add(1)
		return err
	}
	n.counts.snapshots.Add(1)
	n.taken.tell()
	if first {
		n.news.tell()
	}
	n.fence.rouse()
	n.rooms.changed(in.Tenant)
	return nil
}

// sawOf makes durable how far the answer goes, before anything rests on it (P15).
func (n *Node) sawOf(ctx context.Context, in authority.Snapshot) error {
	now := engine.Seen{Tenant: in.Tenant, Generation: in.Generation, Version: in.PlacementVersion}
	if before := n.state.standing(in.Tenant).seen; !before.Below(now) {
		return nil
	}
	if err := n.Disk.Saw(ctx, []engine.Seen{now}); err != nil {
		return err
	}
	n.state.mu.Lock()
	defer n.state.mu.Unlock()
	if t := n.state.tenantOf(in.Tenant); t.seen.Below(now) {
		t.seen = now
	}
	return nil
}

// accept takes a snapshot if it is not older than anything that is held, nor asked for before a jump of the clock. It says
// whether there was none before. Faults: Conflict answer_older, answer_misdirected.
func (s *state) accept(n *Node, in authority.Snapshot, sent time.Duration) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[in.Tenant]
	seen := engine.Seen{Tenant: in.Tenant, Generation: in.Generation, Version: in.PlacementVersion}
	next := placement.Held{
		Node: in.Node, Generation: in.Generation, Version: in.PlacementVersion, State: in.State, LeaseEpoch: in.LeaseEpoch,
		AskedAt: sent,
	}
	older := fault.New(fault.Conflict, "answer_older", "the answer is older than what is held")
	if t == nil || t.told == nil || !t.open || seen.Below(t.seen) || !s.watch.Trusts(sent) {
		return false, older
	}
	later := next
	later.AskedAt = max(sent, t.held.AskedAt) // which of two that say the same is newer, the view judges by the revision too
	if !t.held.Accepts(later) {
		return false, older
	}
	view := t.view
	if view == nil {
		view = n.newView(t)
	}
	if err := view.Install(in.Snapshot, sent); err != nil {
		return false, err
	}
	next.AskedAt, _ = view.SentAt()
	first = t.view == nil
	t.view, t.held, t.stale = view, next, false
	t.refresh = sent + n.chance.within(s.settings.Refresh)
	return first, nil
}

// unheld lets go of a tenant that the control plane says the node has no part in.
func (n *Node) unheld(id string) {
	n.state.mu.Lock()
	if t := n.state.tenants[id]; t != nil {
		t.forget()
	}
	n.state.mu.Unlock()
	n.fence.rouse()
	n.rooms.changed(id)
}
