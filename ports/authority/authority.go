package authority

import (
	"context"
	"time"

	"berth/domain/authorization"
	"berth/domain/placement"
)

// Leases is how a process becomes the node and stays it (P9, P10).
type Leases interface {
	// Register gives the process its heartbeat generation; the latest boot id is given the same again.
	// Fault: Conflict storage_changed.
	Register(ctx context.Context, r placement.Registration) (generation int64, err error)
	// Beat asks for a lease. Its SentAt is for the caller to set: the instant before the call.
	// Faults: Conflict heartbeat_generation_stale, heartbeat_sequence_stale.
	Beat(ctx context.Context, b Beat) (Lease, error)
}

// Beat is a heartbeat.
type Beat struct {
	Generation int64
	Sequence   int64               // grows with each beat, answered or not
	Capacity   *placement.Capacity // the node's own limit; nil for none
	Usage      placement.Capacity
}

// Lease is the answer to a beat.
type Lease struct {
	For         time.Duration
	Epoch       int64 // P8
	ServerTime  time.Time
	Status      string // of the node, as API.md spells it; for people
	Schedulable bool
	Assignments int64 // version of what Assignments would answer
}

// Assignments is how a node learns which tenants concern it.
type Assignments interface {
	// Assignments answers all that concerns the node, at once where its version is not the known one (0 for none), else
	// as soon as there is another or the wait is over; Unchanged then.
	Assignments(ctx context.Context, known int64, wait time.Duration) (Assigned, error)
}

// Assigned is all that concerns a node, of one moment.
type Assigned struct {
	Version    int64
	Unchanged  bool // the version is the known one, and Placements is empty
	Placements []placement.Assignment
}

// Authorizations is how a node learns who may do what (A2–A4).
type Authorizations interface {
	// Snapshot answers all of a tenant, read from the primary: at the current generation, also where an older one was
	// asked for. Faults: NotFound for a tenant that the node has no part in; Conflict generation_ahead.
	Snapshot(ctx context.Context, tenant string, generation int64) (Snapshot, error)
	// Poll names, of at most MaxPoll tenants, those that are not as the node believes: at once where there are any, else
	// as soon as there are or the wait is over. A tenant that is left out was as believed when the request was sent, or
	// became so. Fault: Exhausted too_many_waiters.
	Poll(ctx context.Context, known []Known, wait time.Duration) ([]Differing, error)
}

// MaxPoll is how many tenants one poll may name.
const MaxPoll = 2000

// Snapshot is all that a node is told of a tenant, and where the tenant stands (A2).
type Snapshot struct {
	authorization.Snapshot
	Node  string // the holder of the placement
	State placement.State
}

// Known is what a node believes of a tenant.
type Known struct {
	Tenant     string
	Generation int64
	Revision   int64
}

// Result says what a node has to do about a tenant that differs.
type Result uint8

// The results.
const (
	NeedsSnapshot Result = iota // ask for a full snapshot; also of every word that is not known
	HasDelta                    // apply it
	NotFound                    // the node has no part in this, or there is no such tenant
)

// Differing is one belief that is not the case.
type Differing struct {
	Tenant           string
	Result           Result
	Generation       int64               // the current one; 0 where the node is not the holder
	Delta            authorization.Delta // with HasDelta
	PlacementVersion int64               // with HasDelta: of the placement when the delta was read
}

// Migrations is how a node reports its steps. Each report names the generation that it is about and can be repeated.
// Faults of each: NotFound and Forbidden where the report is not for this node, or not wanted any more; Conflict where
// the migration has gone on, or what is reported is not what it is bound to.
type Migrations interface {
	// Prepared reports that the base was copied or installed ahead (P1).
	Prepared(ctx context.Context, migration string, generation, baseSequence int64) error
	// Quiesced reports that every write is refused and drained at the storage commit, and the manifest behind the fence
	// (P3).
	Quiesced(ctx context.Context, migration string, generation int64, m placement.Manifest) error
	// Copied reports that exactly that manifest was verified and is durable (P4).
	Copied(ctx context.Context, migration string, generation int64, m placement.Manifest) error
	// Drained reports that the last connection is closed and the copy sealed; the generation is the new one (P7).
	Drained(ctx context.Context, migration string, generation int64) error
	// Failed reports that a step can not be done, with a sentence for a person, of at most 512 bytes.
	Failed(ctx context.Context, migration string, generation int64, step, reason string) error
}
