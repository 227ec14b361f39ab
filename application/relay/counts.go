package relay

import (
	"sync"
	"sync/atomic"

	"berth/domain/fault"
)

// counts only grow. They are what metrics show.
type counts struct {
	beats      atomic.Int64 // that were answered
	failures   atomic.Int64 // requests that were not carried out, or of which nobody knows
	snapshots  atomic.Int64 // that were accepted
	deltas     atomic.Int64 // that were applied
	older      atomic.Int64 // answers that were refused as older than what is held
	polls      atomic.Int64 // that were answered
	denied     atomic.Int64 // questions that the gate denied
	closed     atomic.Int64 // that the fence closed
	lapses     atomic.Int64 // leases that ran out
	jumps      atomic.Int64 // of a clock
	steps      atomic.Int64 // changes of copies
	reports    atomic.Int64 // of migrations that were taken
	rotations  atomic.Int64 // of the certificate
	enrolments atomic.Int64

	entered      atomic.Int64 // sessions that began
	ended        atomic.Int64 // sessions that the node ended
	publishes    atomic.Int64 // messages that devices asked to be taken
	acknowledged atomic.Int64 // and that were
	revokes      atomic.Int64 // that owners asked for, and that are committed
	refusals     sync.Map     // of what devices asked for: a *atomic.Int64 by slug
}

// Counts are what happened since the process started.
type Counts struct {
	Beats, Failures, Snapshots, Deltas, Older, Polls, Denied, Closed, Lapses, Jumps, Steps, Reports, Rotations, Enrolments int64
	Entered, Ended, Publishes, Acknowledged, Revokes                                                                       int64
}

// Counts returns them.
func (n *Node) Counts() Counts {
	c := &n.counts
	return Counts{
		Beats: c.beats.Load(), Failures: c.failures.Load(), Snapshots: c.snapshots.Load(), Deltas: c.deltas.Load(),
		Older: c.older.Load(), Polls: c.polls.Load(), Denied: c.denied.Load(), Closed: c.closed.Load(), Lapses: c.lapses.Load(),
		Jumps: c.jumps.Load(), Steps: c.steps.Load(), Reports: c.reports.Load(), Rotations: c.rotations.Load(),
		Enrolments: c.enrolments.Load(), Entered: c.entered.Load(), Ended: c.ended.Load(), Publishes: c.publishes.Load(),
		Acknowledged: c.acknowledged.Load(), Revokes: c.revokes.Load(),
	}
}

// refused counts a refusal of what a device asked for, by its slug, and returns it.
func (n *Node) refused(err error) error {
	slug := fault.SlugOf(err)
	count, known := n.counts.refusals.Load(slug)
	if !known {
		count, _ = n.counts.refusals.LoadOrStore(slug, new(atomic.Int64))
	}
	count.(*atomic.Int64).Add(1) //nolint:errcheck,forcetypeassert // the map holds nothing else
	return err
}

// Refusals are how many times devices were refused what they asked for, by slug.
func (n *Node) Refusals() map[string]int64 {
	out := map[string]int64{}
	n.counts.refusals.Range(func(slug, count any) bool {
		out[slug.(string)] = count.(*atomic.Int64).Load() //nolint:errcheck,forcetypeassert // the map holds nothing else
		return true
	})
	return out
}
