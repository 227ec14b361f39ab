package placement

import (
	"cmp"
	"time"

	"berth/domain/fault"
)

// Held is what a node knows of a tenant's placement: the last snapshot it accepted. AskedAt is the node's monotonic
// clock when the request for it was sent.
type Held struct {
	Node       string
	Generation int64
	Version    int64
	State      State
	LeaseEpoch int64 // of the node that asked, as the snapshot carried it
	AskedAt    time.Duration
}

func (h Held) writable() bool { return h.State == Active || h.State == Draining }

// Accepts says whether an answer may replace what is held: a node never accepts a lower generation, nor a lower version
// at the same one (P15, A3). Of two answers that say the same the one asked for later stays, so that a delayed one does
// not make the snapshot older than it is.
func (h Held) Accepts(next Held) bool {
	return cmp.Or(cmp.Compare(next.Generation, h.Generation), cmp.Compare(next.Version, h.Version),
		cmp.Compare(next.AskedAt, h.AskedAt)) >= 0
}

// After is what a node holds once it was told more of the placement otherwise than by a snapshot, as an assignment does.
// A later word takes away the right to write where it names another node, generation or state; it gives none: what a
// later word gives back, only a snapshot does (P8). What may be read may be read on while node and generation are the same
// (A6). An earlier or repeated word changes nothing (P15).
func (h Held) After(told Held) Held {
	if cmp.Or(cmp.Compare(told.Generation, h.Generation), cmp.Compare(told.Version, h.Version)) <= 0 {
		return h
	}
	told.LeaseEpoch, told.AskedAt = 0, 0
	if told.Generation != h.Generation || told.Node != h.Node {
		return told
	}
	told.AskedAt = h.AskedAt
	if h.writable() || !told.writable() {
		told.LeaseEpoch = h.LeaseEpoch
	}
	return told
}

// Granted is the node's own count of its lease: what the last answered beat gave, from when that beat was sent (P9).
type Granted struct {
	Epoch  int64
	SentAt time.Duration
	For    time.Duration
}

// Accepts says whether the answer to a beat may replace the lease that is counted: never one of an earlier lease, nor
// one of an earlier beat that was overtaken.
func (g Granted) Accepts(next Granted) bool { return next.Epoch >= g.Epoch && next.SentAt >= g.SentAt }

// Alive says whether the lease runs at the monotonic instant now.
func (g Granted) Alive(now time.Duration) bool { return g.For > 0 && now-g.SentAt < g.For }

// Outlives says whether, at the instant now, every lease is over that another process of the node can hold, which beats no
// more since another registered at the instant given: also by a clock that runs at half of this one's speed. A process on a
// copy of the node's disk is nothing that generation, stamp and fence could tell apart (P10).
func (g Granted) Outlives(registered, now time.Duration) bool {
	return g.For > 0 && now-registered > 2*g.For
}

// Copy is a tenant's copy on disk (P16).
type Copy struct {
	Present      bool
	Stamp        int64 // the generation at which it may be written
	Fenced       bool
	FenceVersion int64  // the placement version at which the fence was set (P15)
	Migration    string // for which it was installed; empty once adopted, and where the copy was made here
}

// Installs says whether a migration's copy may be put in this one's place, by a process that holds h: never over one
// that may be written at a later generation, nor over one that was fenced or installed at a later version. A process that
// lags behind another one on the same disk would otherwise undo what that one reported as copied.
func (c Copy) Installs(h Held) bool {
	return !c.Present || c.Stamp <= h.Generation && c.FenceVersion <= h.Version
}

// Adopts says whether the copy is the one that the switch to the present generation was made for, and takes that
// generation as its stamp (P16): it was installed at the generation before, and this node is now the writer.
func (c Copy) Adopts(self string, h Held) bool {
	return c.Present && c.Migration != "" && c.Stamp+1 == h.Generation && h.Node == self && h.writable()
}

// Unfences says whether what is held lifts the copy's fence: a higher version only (P6, P15).
func (c Copy) Unfences(self string, h Held) bool {
	return c.Present && c.Stamp == h.Generation && h.Node == self && h.writable() && h.Version > c.FenceVersion
}

// Commits is the last word on a write that began at a generation: what its transaction reads at the storage commit (P3,
// P16).
func (c Copy) Commits(generation int64) bool { return c.Present && !c.Fenced && c.Stamp == generation }

// Leftover says whether the copy can never be served again, by what the node knows of the tenant's generation, and may
// be collected once the tenant does not concern the node any more (P16).
func (c Copy) Leftover(generation int64) bool { return c.Present && c.Stamp < generation }

// Warrant is all that a node's right to write rests on (P8, P16).
type Warrant struct {
	Self    string
	Held    Held
	Granted Granted
	Copy    Copy
	Bound   time.Duration // the oldest a snapshot may be (A6)
}

// Recheck is Check once more, after the commit of a write and before its acknowledgement (P8), for the generation at
// which the write began: a node that lost the tenant and got it back meanwhile may hold a copy without that write.
// Faults: those of Check; Unavailable generation_changed.
func (w Warrant) Recheck(generation int64, now time.Duration) error {
	if err := w.Check(now); err != nil {
		return err
	}
	if w.Held.Generation != generation {
		return fault.New(fault.Unavailable, "generation_changed", "the write was committed at an earlier generation")
	}
	return nil
}

// Check permits a write at the monotonic instant now, or says why not. It is asked before a write begins; Recheck is
// asked before its acknowledgement. Faults: Unavailable not_holder, lease_run_out, lease_epoch_changed,
// snapshot_too_old, copy_missing, copy_stamp_differs, copy_fenced.
func (w Warrant) Check(now time.Duration) error {
	switch {
	case w.Held.Node != w.Self || !w.Held.writable():
		return deny("not_holder", "the last snapshot does not name this node as the writer")
	case !w.Granted.Alive(now):
		return deny("lease_run_out", "the node lease ran out")
	case w.Granted.Epoch != w.Held.LeaseEpoch:
		return deny("lease_epoch_changed", "the snapshot was asked for under an earlier lease")
	}
	if err := w.CheckRead(now); err != nil {
		return err
	}
	if w.Copy.Fenced {
		return deny("copy_fenced", "the copy is fenced")
	}
	return nil
}

// CheckRead permits reading what the node has, or says why not (A6). It rests on the snapshot alone: while a migration
// keeps the holder from writing it goes on to read, and a control plane that is away for longer than the lease, and for
// less than the bound, sends no device away. Faults: those of Check but lease_run_out, lease_epoch_changed and copy_fenced.
func (w Warrant) CheckRead(now time.Duration) error {
	switch {
	case w.Held.Node != w.Self:
		return deny("not_holder", "the last snapshot does not name this node as the holder")
	case now >= w.ReadsEnd():
		return deny("snapshot_too_old", "the snapshot is older than its bound")
	case !w.Copy.Present:
		return deny("copy_missing", "there is no copy on this node")
	case w.Copy.Stamp != w.Held.Generation:
		return deny("copy_stamp_differs", "the copy on disk is of another generation")
	}
	return nil
}

// ReadsEnd is the instant from which time alone denies reading.
func (w Warrant) ReadsEnd() time.Duration { return w.Held.AskedAt + w.Bound }

func deny(slug, why string) error { return fault.New(fault.Unavailable, slug, "%s", why) }
