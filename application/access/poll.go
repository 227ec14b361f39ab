package access

import (
	"context"
	"fmt"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// PollRequest says what a node believes of its tenants.
type PollRequest struct {
	Caller identity.Caller
	Known  []store.Known // at most MaxPoll; a tenant may be named more than once
	Wait   time.Duration // how long to wait for a difference, at most Settings.MaxWait
	Body   [32]byte      // the SHA-256 of what Known and Wait were read from; zero where there is no such thing

	// Still says whether the caller is in force, once whenever a hint woke it for nothing that differs; nil: it is.
	Still func(context.Context) error
}

// PollResult says what a node has to do about a tenant.
type PollResult string

// The results, as API.md spells them.
const (
	PollDelta          PollResult = "delta"           // apply it
	PollSnapshotNeeded PollResult = "snapshot_needed" // ask for a full snapshot
	PollNotFound       PollResult = "not_found"       // the node has no part in this, or there is no such tenant
)

// PollEntry is one belief that is not, or not any more, the case.
type PollEntry struct {
	Tenant     string
	Result     PollResult
	Generation int64        // the current one, told to the holder only
	Delta      *DeltaAnswer // with PollDelta
}

// PollAnswer names, in the order of asking, only what differs: a belief that is left out was true when the request was
// sent, or became so.
type PollAnswer struct{ Entries []PollEntry }

// Poll is the batched form of Delta (A4). Every entry is judged by the access table on its own. It answers at once when
// anything differs, and otherwise waits for a hint at node/<caller>, looking again by itself as often as
// Settings.Relook says. A delta that would make the answer too long is told as snapshot_needed.
// Faults: those of Still, as soon as a hint has it asked; Invalid poll_too_large, out_of_range; Exhausted
// too_many_waiters; Unavailable request_ended.
func (a *Access) Poll(ctx context.Context, in PollRequest) (PollAnswer, error) {
	if err := authorization.Decide(authorization.OpPoll, placement.RoleStranger, placement.PhaseNone); err != nil {
		return PollAnswer{}, err
	}
	if err := checkKnown(in.Known); err != nil {
		return PollAnswer{}, err
	}
	var out PollAnswer
	beliefs := in.beliefs()
	err := a.await(ctx, in.Wait, nodeTopic(in.Caller.Node), in.Still, func(ctx context.Context) (done bool, err error) {
		out, err = a.look(ctx, in, beliefs)
		return len(out.Entries) > 0, err
	})
	if err != nil {
		return PollAnswer{}, err
	}
	return out, nil
}

// Unchanged says whether a poll with this body, without a wait, was answered before, and nothing changed since: it would
// be answered by nothing again. Whoever is told no polls.
func (a *Access) Unchanged(ctx context.Context, caller identity.Caller, body [32]byte) bool {
	beliefs := PollRequest{Caller: caller, Body: body}.beliefs()
	if !a.confirmed.holds(beliefs) {
		return false
	}
	pulse, err := a.Store.Pulse(ctx, caller.Node)
	return err == nil && a.confirmed.at(beliefs, pulse)
}

// look reads once. Beliefs that were found true are true as long as the node's pulse is what it was before that reading.
func (a *Access) look(ctx context.Context, in PollRequest, beliefs beliefs) (out PollAnswer, err error) {
	pulse, err := a.Store.Pulse(ctx, in.Caller.Node)
	if err != nil || a.confirmed.at(beliefs, pulse) {
		return PollAnswer{}, err
	}
	err = a.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		p := polling{Roles: r, node: in.Caller.Node, budget: a.Settings.PollChanges}
		out, err = p.answer(ctx, in.Known)
		return err
	})
	if err == nil && len(out.Entries) == 0 {
		a.confirmed.note(beliefs, pulse)
	}
	return out, err
}

func checkKnown(known []store.Known) error {
	if len(known) > MaxPoll {
		return fault.New(fault.Invalid, "poll_too_large", "a poll names at most %d tenants", MaxPoll).At("tenants").
			Curable("poll in parts")
	}
	for i, k := range known {
		if checkCounters("", k) == nil { // the field is named only where it is told
			continue
		}
		return checkCounters(fmt.Sprintf("tenants[%d].", i), k)
	}
	return nil
}

func checkCounters(field string, k store.Known) error {
	return fault.All(ident.Counter(field+"generation", k.Generation), ident.Counter(field+"revision", k.Revision))
}

// polling is one reading of a poll.
type polling struct {
	*store.Roles
	node   string
	budget int // changes that the answer has room for
}

func (p *polling) answer(ctx context.Context, known []store.Known) (PollAnswer, error) {
	standings, err := p.differing(ctx, known)
	if err != nil {
		return PollAnswer{}, err
	}
	var out PollAnswer
	judged := make(map[store.Known]struct{}, len(known))
	for _, k := range known {
		s, differs := standings[k.Tenant]
		if _, again := judged[k]; again || !differs {
			continue
		}
		judged[k] = struct{}{}
		entry, err := p.judge(ctx, k, s)
		if err != nil {
			return PollAnswer{}, err
		}
		if entry != nil {
			out.Entries = append(out.Entries, *entry)
		}
	}
	return out, nil
}

// differing maps every tenant about which something may have to be said to where it stands; to nowhere where it does not
// exist. What is out of form never reaches the store.
func (p *polling) differing(ctx context.Context, known []store.Known) (map[string]store.Standing, error) {
	standings := make(map[string]store.Standing)
	asked := make([]store.Known, 0, len(known))
	for _, k := range known {
		if ident.Check("tenant", k.Tenant) == nil {
			asked = append(asked, k)
		} else {
			standings[k.Tenant] = store.Standing{}
		}
	}
	differing, absent, err := p.Standings.Differing(ctx, p.node, asked)
	if err != nil {
		return nil, err
	}
	for _, tenant := range absent {
		standings[tenant] = store.Standing{}
	}
	for _, s := range differing {
		standings[s.Tenant.ID()] = s
	}
	return standings, nil
}

// judge returns what to say about one belief, nil where it is true.
func (p *polling) judge(ctx context.Context, k store.Known, s store.Standing) (*PollEntry, error) {
	if !lets(authorization.OpDelta, s.Placement, p.node) {
		return &PollEntry{Tenant: k.Tenant, Result: PollNotFound}, nil
	}
	entry := &PollEntry{Tenant: k.Tenant, Result: PollSnapshotNeeded, Generation: s.Placement.Record().Generation}
	switch {
	case k.Generation != entry.Generation:
		return entry, nil
	case k.Revision == s.Tenant.Revision():
		return nil, nil //nolint:nilnil // the belief is true
	}
	d, err := p.delta(ctx, k, s)
	if err == nil {
		entry.Result, entry.Delta = PollDelta, &d
		return entry, nil
	}
	if fault.KindOf(err) != fault.Gone {
		return nil, err
	}
	return entry, nil
}

// delta takes from the budget. A log that the budget cuts short is as good as none: Gone.
func (p *polling) delta(ctx context.Context, k store.Known, s store.Standing) (DeltaAnswer, error) {
	if s.Tenant.Revision()-k.Revision > int64(p.budget) {
		return DeltaAnswer{}, fault.New(fault.Gone, "delta_unavailable", "the answer has no room for it")
	}
	d, err := delta(ctx, p.Roles, s, k.Revision, p.budget)
	p.budget -= len(d.Changes)
	return d, err
}
