package devnode

import (
	"context"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/domain/placement"
)

// holding is what the node knows of a tenant that it holds: the last snapshot that it accepted (P8, A6).
type holding struct {
	placement.Held
	tenant     string
	revision   int64
	status     string
	takenAt    time.Duration // when the whole snapshot was asked for; Held.AskedAt is renewed by polls
	principals map[string]string
	stale      bool
}

// hold takes a snapshot of the tenant. The empty copy of a tenant is made for its first placement, and never later (P16).
func (n *Node) hold(ctx context.Context, a contract.Assignment) error {
	if err := n.take(ctx, a.Tenant, a.Generation); err != nil && fault.SlugOf(err) != olderSlug {
		return err
	}
	held := n.heldNow(a.Tenant)
	return n.disk.update(a.Tenant, func(k kept, present bool) (kept, error) {
		switch {
		case !present && a.Generation == 1: // held for the first time ever: only then is an empty copy made (P16)
			k = kept{Stamp: 1}
		case k.seen(present).Unfences(n.ID, held):
			k.Fenced = false
		}
		return k, nil
	})
}

func (n *Node) heldNow(tenant string) placement.Held {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h := n.held[tenant]; h != nil {
		return h.Held
	}
	return placement.Held{}
}

const olderSlug = "answer_older"

// take asks for a snapshot and accepts it, if it is not older than what is held (A3, P15).
func (n *Node) take(ctx context.Context, tenant string, generation int64) error {
	sent := n.Clock.Elapsed() // its age counts from here
	s, err := n.API.Snapshot(ctx, tenant, generation)
	if err != nil {
		return err
	}
	state, ok := states()[s.State]
	if !ok {
		return fault.New(fault.Internal, "unexpected_answer", "a placement can not be %q", s.State)
	}
	next := &holding{
		Held: placement.Held{
			Node: s.Node, Generation: s.Generation, Version: s.PlacementVersion, State: state, LeaseEpoch: s.LeaseEpoch,
			AskedAt: sent,
		},
		tenant: tenant, revision: s.Revision, status: s.Status, takenAt: sent, principals: map[string]string{},
	}
	for _, p := range s.Principals {
		next.principals[p.ID] = p.Status
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.held[tenant]
	if before != nil && (!before.Accepts(next.Held) || before.Generation == next.Generation && before.revision > next.revision) {
		return fault.New(fault.Conflict, olderSlug, "the answer is older than what is held")
	}
	n.tell(before, next)
	n.held[tenant] = next
	n.renewPoll()
	return nil
}

// tell says what a person wants to see of a change.
func (n *Node) tell(before, next *holding) {
	if before == nil || before.Generation != next.Generation {
		n.Log.Info("holds a tenant", "tenant", next.tenant, "generation", next.Generation, "revision", next.revision)
		return
	}
	for id, status := range next.principals {
		if was, known := before.principals[id]; status == "revoked" && was != "revoked" && known {
			n.Log.Info("a principal is revoked: its sessions end here", "tenant", next.tenant, "principal", id,
				"revision", next.revision)
		}
	}
}

func states() map[string]placement.State {
	out := map[string]placement.State{}
	for s := placement.Active; s <= placement.Draining; s++ {
		out[s.String()] = s
	}
	return out
}

// followAuthorization polls for changes of all that is held, and takes snapshots anew before they are too old (A4).
func (n *Node) followAuthorization(ctx context.Context) {
	for ctx.Err() == nil {
		for _, h := range n.due() {
			err := n.take(ctx, h.Tenant, h.Generation)
			if fault.KindOf(err) == fault.NotFound {
				n.letGo(h.Tenant)
			} else if err != nil {
				n.pauseAfter(ctx, "a snapshot", err)
			}
		}
		if err := n.poll(ctx); err != nil {
			n.pauseAfter(ctx, "a poll", err)
		}
	}
}

// due returns the tenants whose snapshot is to be taken anew.
func (n *Node) due() []contract.Known {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []contract.Known
	for tenant, h := range n.held {
		if h.stale || n.Clock.Elapsed()-h.takenAt >= refresh {
			out = append(out, contract.Known{Tenant: tenant, Generation: h.Generation})
		}
	}
	return out
}

func (n *Node) poll(ctx context.Context) error {
	waiting, known, stop := n.beginPoll(ctx)
	defer stop()
	sent := n.Clock.Elapsed()
	answer, err := n.API.Poll(waiting, known, longPoll)
	if waiting.Err() != nil { // there is more to ask about, or the node ends
		return nil
	}
	if err != nil {
		return err
	}
	n.confirm(known, answer, sent)
	for _, t := range answer.Tenants {
		if t.Result == "not_found" { // the assignments say what became of it
			n.letGo(t.Tenant)
			continue
		}
		if err := n.take(ctx, t.Tenant, t.Generation); err != nil && fault.KindOf(err) != fault.NotFound {
			return err
		}
	}
	return nil
}

// letGo forgets what was held of a tenant; its copy stays.
func (n *Node) letGo(tenant string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.held, tenant)
}

func (n *Node) beginPoll(ctx context.Context) (context.Context, []contract.Known, context.CancelFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	waiting, stop := context.WithCancel(ctx)
	n.stop = stop
	known := []contract.Known{}
	for tenant, h := range n.held {
		if h.stale {
			stop()
		}
		known = append(known, contract.Known{Tenant: tenant, Generation: h.Generation, Revision: h.revision})
	}
	return waiting, known, stop
}

// confirm renews what the answer left out: it is as it was when the poll was sent (A6).
func (n *Node) confirm(known []contract.Known, answer contract.Polled, sent time.Duration) {
	differs := map[string]bool{}
	for _, t := range answer.Tenants {
		differs[t.Tenant] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range known {
		h := n.held[k.Tenant]
		if h != nil && !differs[k.Tenant] && h.Generation == k.Generation && h.revision == k.Revision {
			h.AskedAt = max(h.AskedAt, sent)
		}
	}
}

// renew has every snapshot taken anew.
func (n *Node) renew() {
	for _, h := range n.held {
		h.stale = true
	}
	n.renewPoll()
}

func (n *Node) renewPoll() {
	if n.stop != nil {
		n.stop()
	}
}
