package placement

import (
	"net/url"
	"slices"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// LeaseRecord is the hot row of a node: who it is now, its heartbeats, and the lease they grant.
type LeaseRecord struct {
	Node       string
	BootID     string // the process that registered last (P10, §14)
	StorageID  string // the data directory that is this node; empty until the first registration
	Version    string // of the node's software, for people
	Advertise  string // host:port where peers reach it
	Generation int64  // heartbeat generation: 0 before the first registration
	Sequence   int64  // of the last beat within the generation
	Epoch      int64  // raised when a lease is granted after the last one ran out (P8)
	Lapsed     bool   // the last lease ran out by the control plane's own count, or none was granted yet
	// Granted is how long the node may count its lease: the longest that was granted since the last one ran out, since an
	// answer that granted less may not have reached the node.
	Granted      time.Duration
	Reported     Capacity
	Usage        Capacity
	BeatAt       time.Time // wall clock, for people; no rule reads it
	RegisteredAt time.Time
}

// Lease is a node's registration and node lease (P8–P10).
type Lease struct {
	r       LeaseRecord
	doubted bool
}

// NewLease is the lease of a node that never registered: lapsed, so that the node counts as offline.
func NewLease(node string) *Lease {
	return &Lease{r: LeaseRecord{Node: node, Lapsed: true, Reported: Boundless()}}
}

// RestoreLease is for stores.
func RestoreLease(r LeaseRecord) *Lease { return &Lease{r: r} }

// Record is the lease's state, for stores and views.
func (l *Lease) Record() LeaseRecord { return l.r }

// Registration is what a node says of itself when it starts.
type Registration struct {
	BootID    string // new at each start of the process
	StorageID string // written into the data directory once
	Version   string
	Advertise string
}

// Register gives the process its heartbeat generation: the stored one when the latest boot id registers again (its
// answer was lost), else one above it. Registering grants no lease and ends none: only a beat grants, and only the
// control plane's count ends (the model's M10 shows a second writer where registering resets the count).
// Faults: Invalid; Conflict storage_changed when another data directory claims the identity (P10).
func (l *Lease) Register(in Registration, now time.Time) (int64, error) {
	if err := in.check(now); err != nil {
		return 0, err
	}
	if l.r.StorageID != "" && l.r.StorageID != in.StorageID {
		return 0, fault.New(fault.Conflict, "storage_changed",
			"node %s is known by another data directory than the one that registers", l.r.Node).
			Curable("start the node on its own data directory, or let an operator replace the node's storage")
	}
	if l.r.BootID == in.BootID && l.r.Generation > 0 {
		l.r.Version, l.r.Advertise = in.Version, in.Advertise
		return l.r.Generation, nil
	}
	if l.r.Generation >= ident.MaxCounter {
		return 0, fault.New(fault.Exhausted, "generation_exhausted", "the heartbeat generation can not grow any more")
	}
	l.r.BootID, l.r.StorageID, l.r.Version, l.r.Advertise = in.BootID, in.StorageID, in.Version, in.Advertise
	l.r.Generation++
	l.r.Sequence = 0
	l.r.RegisteredAt = ident.Instant(now)
	return l.r.Generation, nil
}

func (in Registration) check(now time.Time) error {
	return fault.All(dated(now),
		text("boot_id", in.BootID, 1, 64), text("storage_id", in.StorageID, 1, 64),
		text("version", in.Version, 0, 64), hostPort("advertise", in.Advertise))
}

// text accepts printable ASCII of a bounded length.
func text(field, s string, least, most int) *fault.Error {
	ok := len(s) >= least && len(s) <= most
	for i := 0; ok && i < len(s); i++ {
		ok = s[i] > ' ' && s[i] < 0x7f
	}
	if ok {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_text", "must be %d to %d printable ASCII characters without spaces",
		least, most).At(field)
}

// dated refuses a time that nobody set: a defect of the caller, which would put deadlines into the year one.
func dated(now time.Time) *fault.Error {
	if now.IsZero() {
		return fault.New(fault.Internal, "time_missing", "an event needs the time at which it happens")
	}
	return nil
}

// hostPort accepts nothing, and what peers can dial: a host and a port.
func hostPort(field, address string) *fault.Error {
	if e := text(field, address, 0, 255); e != nil {
		return e
	}
	u, err := url.Parse("tcp://" + address)
	if address == "" || err == nil && u.Host == address && u.Port() != "" && isHost(u.Hostname()) && isPort(u) {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_address", "an address is host:port").At(field)
}

// ReplaceStorage forgets the data directory, so that another one may register: an operator's decision after the disk
// of the node is gone for good. The heartbeat generation grows, so that a process which still runs on the old disk is
// refused its next beat. Candidate.ReplaceStorage is the same with its guard.
func (l *Lease) ReplaceStorage() {
	l.r.StorageID, l.r.BootID = "", ""
	if l.r.Generation > 0 {
		l.r.Generation, l.r.Sequence = min(ident.MaxCounter, l.r.Generation+1), 0
	}
}

// ReplaceStorage forgets the node's data directory (P10) where that endangers no tenant: a new directory would be taken
// for the tenant's first place, with an empty Engine (P16), and the old process has to be over before a new one counts
// as the node. Faults: Conflict node_not_empty, lease_not_run_out.
func (c Candidate) ReplaceStorage() error {
	if c.Node.r.Tenants > 0 || c.Node.r.Inbound > 0 {
		return c.Node.notEmpty()
	}
	if c.Lease.Live() {
		return fault.New(fault.Conflict, "lease_not_run_out", "node %s still runs on its data directory", c.Node.r.ID).
			Curable("stop the node, and wait until it counts as offline")
	}
	c.Lease.ReplaceStorage()
	return nil
}

// Beat is a heartbeat as it arrived.
type Beat struct {
	Generation int64
	Sequence   int64
	Capacity   Capacity // the node's own limit; it may lower the operator's, never raise it (P10)
	Usage      Capacity
	Grants     time.Duration // how long the lease lasts that is the answer
}

// Beat takes a heartbeat and grants the lease; the epoch grows when the last lease had run out.
// Faults: Invalid out_of_range; Conflict heartbeat_generation_stale, heartbeat_sequence_stale; Exhausted
// epoch_exhausted.
func (l *Lease) Beat(b Beat, now time.Time) error {
	if err := b.check(now); err != nil {
		return err
	}
	if b.Generation != l.r.Generation || l.r.Generation == 0 {
		return fault.New(fault.Conflict, "heartbeat_generation_stale",
			"this process is not the one that registered last as node %s", l.r.Node).
			Curable("stop serving; a new process registers anew")
	}
	if b.Sequence <= l.r.Sequence {
		return fault.New(fault.Conflict, "heartbeat_sequence_stale", "sequence %d was already passed", b.Sequence).
			Curable("send the next sequence")
	}
	if l.r.Lapsed && l.r.Epoch >= ident.MaxCounter {
		return fault.New(fault.Exhausted, "epoch_exhausted", "the lease epoch can not grow any more")
	}
	l.r.Sequence = b.Sequence
	l.r.Reported, l.r.Usage = b.Capacity, b.Usage
	l.r.BeatAt = ident.Instant(now)
	if l.r.Lapsed {
		l.r.Lapsed, l.r.Granted = false, 0
		l.r.Epoch++
	}
	l.r.Granted = max(l.r.Granted, b.Grants)
	return nil
}

func (b Beat) check(now time.Time) error {
	return fault.All(slices.Concat(b.Capacity.faults("capacity"), b.Usage.faults("usage"), []*fault.Error{
		ident.Counter("generation", b.Generation), ident.Counter("sequence", b.Sequence), dated(now),
	})...)
}

// Mark names one state of a lease row: the compare-and-set value of P9.
type Mark struct {
	Generation, Sequence int64
	Granted              time.Duration
}

// Mark is the lease's present state.
func (l *Lease) Mark() Mark { return Mark{l.r.Generation, l.r.Sequence, l.r.Granted} }

// Lapse records that the lease counted at mark ran out (P9). A beat or a registration in between means that it was not
// this lease that ran out: Conflict lease_renewed. A lease that lapsed already stays so.
func (l *Lease) Lapse(counted Mark) error {
	if l.Mark() != counted {
		return fault.New(fault.Conflict, "lease_renewed", "node %s was heard of since", l.r.Node)
	}
	l.r.Lapsed = true
	return nil
}

// Live says whether the node counts as online, and whether it may still write: what rests on a lease's end asks this.
func (l *Lease) Live() bool { return !l.r.Lapsed || l.doubted }

// Doubt makes the lease count as live although it is recorded as lapsed. A process of the control plane doubts every
// lapse that it has not counted out itself: the record may be that of a restored or failed-over database, whose node
// has long been granted another lease (P9). It changes nothing that is stored.
func (l *Lease) Doubt() { l.doubted = true }
