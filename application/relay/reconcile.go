package relay

import (
	"context"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/engine"
)

// reportAgain is when a report is made again, where nothing was told of its effect: the news of it may be lost.
const reportAgain = 5 * time.Second

// maxActs is more acts than any assignment asks for, one after the other.
const maxActs = 4

// reconcile does what is due of one tenant, and puts it back into the queue for when more is. What was done before plays
// no part in it: after a crash, or a report that was lost, it comes to the same (R5).
func (n *Node) reconcile(ctx context.Context, id string) {
	again, err := n.settle(ctx, id)
	if ctx.Err() != nil {
		return
	}
	n.state.note(id, err)
	n.rooms.changed(id)
	if err != nil {
		n.Log.WarnContext(ctx, "a tenant could not be brought to what is told of it", "tenant", id, "error", err,
			"again_in", again.Round(time.Millisecond))
	}
	if again > 0 {
		n.queue.add(id, again)
	}
}

// settle is one look at a tenant: first what is on the disk, then what is known, then what is reported of it.
func (n *Node) settle(ctx context.Context, id string) (again time.Duration, err error) {
	at := n.state.standing(id)
	switch {
	case n.state.elsewhere():
		// To fence this copy and report it would say nothing of the one that is written to by a process on a copy of the disk.
		return 0, nil
	case !at.is:
		return 0, n.collect(ctx, id, at)
	}
	act, failed := n.act(ctx, at.told)
	if now, after := n.state.wanted(id); now && n.state.identity() == nil {
		err = n.snapshot(ctx, id, at.told.Generation)
		switch {
		case overtaken(err):
			err, again = nil, firstRetry
		case fault.KindOf(err) == fault.NotFound: // the assignments are about to say what became of it
			err, again = nil, time.Second
		}
		if _, after = n.state.wanted(id); err == nil && after > 0 {
			again = after
		}
	} else {
		again = after
	}
	if failed == nil && act != placement.Rest {
		failed = n.report(ctx, at.told, act)
		again = sooner(again, reportAgain)
	}
	if err == nil {
		err = failed
	}
	if err != nil {
		var once backoff
		once.tries = 2
		again = sooner(again, once.next(n.chance, err, lastRetry))
	}
	return again, err
}

// elsewhere says whether another process may hold a lease of the node, on a copy of the disk.
func (s *state) elsewhere() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.strange
}

// identity says why there is no use in asking for anything.
func (s *state) identity() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lost
}

func sooner(a, b time.Duration) time.Duration {
	if a <= 0 {
		return b
	}
	return min(a, b)
}

// overtaken says whether an answer was refused since something newer came first, which is no failure.
func overtaken(err error) bool { return fault.SlugOf(err) == "answer_older" }

// act does on the disk what the assignment asks for, until only a report is left, or nothing.
func (n *Node) act(ctx context.Context, told placement.Assignment) (left placement.Act, err error) {
	at := n.state.standing(told.Tenant)
	// What an earlier process kept may be behind what is on the disk. That matters once something rests on it.
	if !at.open && placement.Follow(n.settings.Self.Node(), told, at.copy) == placement.Rest {
		return placement.Rest, nil
	}
	if err := n.reread(ctx, told.Tenant); err != nil {
		return placement.Rest, err
	}
	for range maxActs {
		c := n.state.standing(told.Tenant).copy
		left = placement.Follow(n.settings.Self.Node(), told, c)
		if moves, err := n.withoutMoving(ctx, told, left); err != nil || moves != left {
			return moves, err
		}
		if (left == placement.Install || left == placement.ReportCopied) && !provesEmpty(told) {
			return placement.ReportFailed, nil
		}
		if told.Done(left, c) == c {
			return left, nil
		}
		if err := n.change(ctx, told, left); err != nil {
			return placement.Rest, err
		}
	}
	return left, nil
}

// withoutMoving keeps a source from moving data, which this node can not copy: after the fence not one write more comes to
// what the disk says then (P3).
func (n *Node) withoutMoving(ctx context.Context, told placement.Assignment, act placement.Act) (placement.Act, error) {
	const some = 1
	if told.WithoutMoving(act, some) == act {
		return act, nil
	}
	kept, err := n.Disk.Change(ctx, told.Tenant, func(*engine.Kept) error { return nil })
	if err != nil {
		return placement.Rest, err
	}
	return told.WithoutMoving(act, kept.Sequence), nil
}

// change makes one act durable. It is judged again inside the transaction, by what is on the disk by then.
func (n *Node) change(ctx context.Context, told placement.Assignment, act placement.Act) error {
	if act == placement.Fence || act == placement.Seal {
		n.state.fenced(told.Tenant) // nothing begins any more while the fence is on its way to the disk
	}
	if act == placement.Seal || act == placement.Install || act == placement.MakeEmpty {
		n.rooms.shut(told.Tenant, errMoved())
	}
	kept, err := n.Disk.Change(ctx, told.Tenant, func(k *engine.Kept) error {
		if seenOf(told).Below(k.Seen) || placement.Follow(n.settings.Self.Node(), told, k.Copy) != act {
			return fault.New(fault.Conflict, "step_overtaken", "what is on the disk has gone on meanwhile")
		}
		k.Copy = told.Done(act, k.Copy)
		if act == placement.MakeEmpty || act == placement.Install {
			k.Sequence = 0
		}
		return nil
	})
	if err != nil {
		n.state.doubt(told.Tenant)
		return err
	}
	n.state.copied(told.Tenant, kept)
	n.counts.steps.Add(1)
	n.fence.rouse()
	n.Log.InfoContext(ctx, "a copy was changed", "tenant", told.Tenant, "act", act.String(), "generation", told.Generation,
		"version", told.Version)
	return nil
}

func (s *state) fenced(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenantOf(id).fencing = true
}

func (s *state) doubt(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenantOf(id).doubtful = true
}

// reread finds out what became of a change whose commit failed: it may be on the disk all the same.
func (n *Node) reread(ctx context.Context, id string) error {
	n.state.mu.RLock()
	doubtful := n.state.tenants[id] != nil && n.state.tenants[id].doubtful
	n.state.mu.RUnlock()
	if !doubtful {
		return nil
	}
	kept, err := n.Disk.Change(ctx, id, func(*engine.Kept) error { return nil })
	if err == nil {
		n.state.copied(id, kept)
	}
	return err
}

func (s *state) copied(id string, k engine.Kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenantOf(id)
	t.copy, t.fencing, t.doubtful = k.Copy, false, false
	if t.seen.Below(k.Seen) {
		t.seen = k.Seen
	}
}

// collect removes a copy that can never be served again, of a tenant that does not concern the node (P16).
func (n *Node) collect(ctx context.Context, id string, at standing) error {
	if !at.copy.Leftover(at.seen.Generation) {
		return nil
	}
	n.rooms.shut(id, errMoved())
	kept, err := n.Disk.Change(ctx, id, func(k *engine.Kept) error {
		if k.Copy.Leftover(k.Generation) {
			k.Copy, k.Sequence = placement.Copy{}, 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	n.state.copied(id, kept)
	n.counts.steps.Add(1)
	n.Log.InfoContext(ctx, "a leftover copy was collected", "tenant", id, "generation", at.seen.Generation)
	return nil
}

// empty is a tenant's data, of which there is none yet, as the source leaves it behind its fence.
func empty(told placement.Assignment) placement.Content {
	return placement.Content{Tenant: told.Tenant, Generation: told.Generation}
}

// provesEmpty says whether the source's manifest is that of no data, which is all that this node can install (P4).
func provesEmpty(told placement.Assignment) bool { return empty(told).Verify(manifestOf(told)) == nil }

func manifestOf(told placement.Assignment) placement.Manifest {
	return placement.Manifest{Root: told.Migration.ManifestRoot, LastSequence: told.Migration.LastSequence}
}

// report says what is durable by now. A refusal that means that it is not wanted any more is no failure: the assignments
// say what became of the migration.
func (n *Node) report(ctx context.Context, told placement.Assignment, act placement.Act) error {
	if n.settings.Pace > 0 && !n.pause(ctx, n.settings.Pace, nil) {
		return nil
	}
	sent := n.Clock.Elapsed()
	timed, cancel := context.WithTimeout(ctx, requestTimeout)
	err := n.say(timed, told, act)
	cancel()
	if err != nil {
		n.keeper.heard(ctx, err, sent)
		if unwanted(err) {
			n.Log.InfoContext(ctx, "a report was not wanted any more", "tenant", told.Tenant, "step", act.String(), "slug", fault.SlugOf(err))
			err = nil
		}
		return err
	}
	n.counts.reports.Add(1)
	n.Log.InfoContext(ctx, "a step of a migration is reported", "tenant", told.Tenant, "migration", told.Migration.ID, "step", act.String())
	return nil
}

func unwanted(err error) bool {
	switch fault.KindOf(err) { //nolint:exhaustive // every other kind is a failure
	case fault.Conflict, fault.NotFound, fault.Forbidden:
		return true
	}
	return false
}

func (n *Node) say(ctx context.Context, told placement.Assignment, act placement.Act) error {
	to, id, generation := n.Authority.Migrations, told.Migration.ID, told.Generation
	switch act { //nolint:exhaustive // the others change the copy and are not reported
	case placement.ReportPrepared:
		return to.Prepared(ctx, id, generation, 0)
	case placement.ReportQuiesced:
		m, err := empty(told).Manifest()
		if err != nil {
			return err
		}
		return to.Quiesced(ctx, id, generation, m)
	case placement.ReportCopied:
		return to.Copied(ctx, id, generation, manifestOf(told))
	case placement.ReportDrained:
		n.rooms.shut(told.Tenant, errMoved())
		return to.Drained(ctx, id, generation)
	case placement.ReportFailed:
		return to.Failed(ctx, id, generation, told.Migration.Phase.String(), reason(told, n.state.standing(told.Tenant).copy))
	}
	return nil
}

func reason(told placement.Assignment, c placement.Copy) string {
	switch {
	case told.Role == placement.RoleTarget:
		return "the manifest names data that this node has no way to fetch"
	case c.Present && c.Stamp == told.Generation:
		return "this node can not copy a tenant's data yet"
	}
	return "this node has no copy of the generation that is to move"
}
