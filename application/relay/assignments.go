package relay

import (
	"context"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/authority"
	"berth/ports/engine"
)

// followAssignments learns which tenants concern the node, as soon as that changes.
func (n *Node) followAssignments(ctx context.Context) {
	var tries backoff
	for n.registered(ctx) {
		sent := n.Clock.Elapsed()
		all, err := n.Authority.Assignments.Assignments(ctx, n.assignmentsVersion(), n.settings.Wait)
		if err == nil && !all.Unchanged {
			err = n.told(ctx, all)
		}
		if err != nil {
			if !n.failed(ctx, "assignments", err, sent, &tries) {
				return
			}
			continue
		}
		tries = backoff{}
		// A list is told as a whole: what changes meanwhile comes with the next one.
		if !n.pause(ctx, time.Duration(len(all.Placements))*pauseForEach, nil) {
			return
		}
	}
}

// pauseForEach is how long the node waits, for each tenant of a list, before it asks for the next list.
const pauseForEach = 10 * time.Microsecond

func (n *Node) assignmentsVersion() int64 {
	n.state.mu.RLock()
	defer n.state.mu.RUnlock()
	return n.state.version
}

// told takes one list of assignments as a whole: a tenant that is not in it does not concern the node any more. Of each
// tenant the highest that was ever told is durable before it is acted on (P15).
func (n *Node) told(ctx context.Context, all authority.Assigned) error {
	if all.Version < n.assignmentsVersion() {
		n.counts.older.Add(1)
		return fault.New(fault.Conflict, "answer_older", "the assignments are of version %d, older than those that are known", all.Version)
	}
	accepted, higher := n.acceptable(ctx, all.Placements)
	if len(higher) > 0 {
		if err := n.Disk.Saw(ctx, higher); err != nil {
			return err
		}
	}
	for _, id := range n.take(all.Version, accepted) {
		n.queue.add(id, 0)
		n.rooms.changed(id)
	}
	n.fence.rouse()
	n.news.tell()
	return nil
}

// acceptable leaves out what is lower than what was seen, as after the control plane came back from an older backup: that
// concerns the node no more than if it had not been told.
func (n *Node) acceptable(ctx context.Context, told []placement.Assignment) (accepted []placement.Assignment, higher []engine.Seen) {
	n.state.mu.RLock()
	defer n.state.mu.RUnlock()
	for _, a := range told {
		now := seenOf(a)
		var before engine.Seen
		if t := n.state.tenants[a.Tenant]; t != nil {
			before = t.seen
		}
		switch {
		case now.Below(before):
			n.counts.older.Add(1)
			n.Log.WarnContext(ctx, "an assignment is older than what was told before, and is not followed", "tenant", a.Tenant,
				"generation", now.Generation, "version", now.Version, "known_generation", before.Generation, "known_version", before.Version)
			continue
		case before.Below(now):
			higher = append(higher, now)
		}
		accepted = append(accepted, a)
	}
	return accepted, higher
}

func seenOf(a placement.Assignment) engine.Seen {
	return engine.Seen{Tenant: a.Tenant, Generation: a.Generation, Version: a.Version}
}

// take replaces what the node was told, and returns the tenants to look at.
func (n *Node) take(version int64, told []placement.Assignment) (changed []string) {
	s := n.state
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
	listed := make(map[string]bool, len(told))
	for _, a := range told {
		listed[a.Tenant] = true
		if s.tenantOf(a.Tenant).tell(a, s.settings.Self.Node()) {
			changed = append(changed, a.Tenant)
		}
	}
	for id, t := range s.tenants {
		switch {
		case listed[id]:
		case t.told != nil:
			t.told = nil
			t.forget()
			changed = append(changed, id)
		case t.copy.Leftover(t.seen.Generation):
			changed = append(changed, id)
		}
	}
	return changed
}

// tell takes one assignment, and says whether it is another than before.
func (t *tenant) tell(a placement.Assignment, self string) bool {
	if seen := seenOf(a); t.seen.Below(seen) {
		t.seen = seen
	}
	if t.told != nil && t.told.Version == a.Version && t.told.Generation == a.Generation && t.told.Role == a.Role {
		return false
	}
	t.told = &a
	t.held = t.held.After(a.Held(self))
	t.failed = nil
	return true
}

// holds says whether the node was told last that it holds the tenant. The caller holds the lock.
func (t *tenant) holds(self string) bool { return t.told != nil && t.told.Held(self).Node == self }

// standing is what is known of a tenant for deciding what is to be done.
type standing struct {
	told     placement.Assignment
	copy     placement.Copy
	seen     engine.Seen
	is       bool // it concerns the node
	open     bool
	doubtful bool
}

func (s *state) standing(id string) standing {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tenants[id]
	if t == nil {
		return standing{}
	}
	out := standing{copy: t.copy, seen: t.seen, is: t.told != nil, open: t.open, doubtful: t.doubtful}
	if out.is {
		out.told = *t.told
	}
	return out
}

// note remembers for people what went wrong with a tenant last.
func (s *state) note(id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tenants[id]; t != nil {
		t.failed = err
	}
}

// breaks remembers what went wrong with a tenant's Engine, and with nil that it opened.
func (s *state) breaks(id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tenants[id]; t != nil {
		t.broken = err
	}
}

// wanted says whether a snapshot is to be taken now, or else after which time.
func (s *state) wanted(id string) (now bool, after time.Duration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tenants[id]
	if t == nil || !t.open || !t.holds(s.settings.Self.Node()) {
		return false, 0
	}
	at := s.clock.Elapsed()
	switch {
	case t.stale, t.view == nil, at >= t.refresh, t.held.LeaseEpoch != s.granted.Epoch,
		t.view.Position().PlacementVersion < t.told.Version:
		return true, 0
	}
	return false, t.refresh - at
}
