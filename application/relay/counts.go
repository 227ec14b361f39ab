package relay

import "sync/atomic"

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
}

// Counts are what happened since the process started.
type Counts struct {
	Beats, Failures, Snapshots, Deltas, Older, Polls, Denied, Closed, Lapses, Jumps, Steps, Reports, Rotations, Enrolments int64
}

// Counts returns them.
func (n *Node) Counts() Counts {
	c := &n.counts
	return Counts{
		Beats: c.beats.Load(), Failures: c.failures.Load(), Snapshots: c.snapshots.Load(), Deltas: c.deltas.Load(),
		Older: c.older.Load(), Polls: c.polls.Load(), Denied: c.denied.Load(), Closed: c.closed.Load(), Lapses: c.lapses.Load(),
		Jumps: c.jumps.Load(), Steps: c.steps.Load(), Reports: c.reports.Load(), Rotations: c.rotations.Load(),
		Enrolments: c.enrolments.Load(),
	}
}
