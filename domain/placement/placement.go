package placement

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// State is the state of a placement (P1).
type State uint8

// The states of a placement, in the order a migration passes them.
const (
	Active    State = iota // its node serves it
	Quiescing              // the source is to fence and drain writes
	Copying                // the target installs the data
	Switching              // the target has the data; the generation is about to grow
	Draining               // the target is the only writer; the source closes down
)

var stateNames = [...]string{"active", "quiescing", "copying", "switching", "draining"} //nolint:gochecknoglobals // an immutable table

// String returns the state as API.md spells it.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

type event uint8

const (
	begin event = iota
	enterRecover
	quiesced
	copied
	switchOver
	drained
	drainDeadline
	abort
)

var eventNames = [...]string{ //nolint:gochecknoglobals // an immutable table
	"begin", "recover", "quiesced", "copied", "switch", "drained", "drain deadline", "abort",
}

// edges is the placement's state machine; there is no other path (P1).
var edges = []struct { //nolint:gochecknoglobals // the state machine
	from  State
	event event
	to    State
}{
	{Active, begin, Quiescing},
	{Quiescing, quiesced, Copying},
	{Copying, copied, Switching},
	{Switching, switchOver, Draining},
	{Draining, drained, Active},
	{Draining, drainDeadline, Active},

	{Quiescing, abort, Active},
	{Copying, abort, Active},
	{Switching, abort, Active},

	{Active, enterRecover, Copying},
	{Quiescing, enterRecover, Copying},
	{Draining, enterRecover, Copying},
}

// Record is what a store keeps of a placement.
type Record struct {
	Tenant       string
	HomeRegion   string
	Node         string // the one node that may write
	Generation   int64
	Version      int64 // P15
	State        State
	Migration    string // the one in flight; empty when none
	Source       string // of that migration
	Target       string // of that migration
	ManifestRoot string // 64 hex digits once the source reported it (P3)
	LastSequence int64  // the Engine's last committed sequence in that manifest
	ChangedAt    time.Time
}

// Placement is where a tenant lives (P1). Migration moves it.
type Placement struct{ r Record }

// Restore is for stores.
func Restore(r Record) *Placement { return &Placement{r} }

// Record is the placement's state, for stores and views.
func (p *Placement) Record() Record { return p.r }

// First places a tenant for the first time: generation 1, version 1, active. Only at generation 1 may a node make an
// empty Engine (P16).
func First(tenant string, node *Node, now time.Time) *Placement {
	node.admit()
	return &Placement{Record{
		Tenant: tenant, HomeRegion: node.r.Region, Node: node.r.ID, Generation: 1, Version: 1, ChangedAt: ident.Instant(now),
	}}
}

func (p *Placement) step(e event, now time.Time) error {
	for _, edge := range edges {
		if edge.from == p.r.State && edge.event == e {
			if err := p.touch(now); err != nil {
				return err
			}
			p.r.State = edge.to
			return nil
		}
	}
	return fault.New(fault.Conflict, "placement_state_conflict", "a placement that is %s has no step %q",
		p.r.State, eventNames[e])
}

// touch raises the version: every change of a placement does (P15).
func (p *Placement) touch(now time.Time) error {
	if err := dated(now); err != nil {
		return err
	}
	if p.r.Version >= ident.MaxCounter {
		return fault.New(fault.Exhausted, "version_exhausted", "the placement version can not grow any more")
	}
	p.r.Version++
	p.r.ChangedAt = ident.Instant(now)
	return nil
}

// join binds the placement to a migration.
func (p *Placement) join(m *MigrationRecord) {
	p.r.Migration, p.r.Source, p.r.Target = m.ID, m.Source, m.Target
	p.r.ManifestRoot, p.r.LastSequence = m.ManifestRoot, m.LastSequence
}

// leave unbinds it.
func (p *Placement) leave() {
	p.r.Migration, p.r.Source, p.r.Target, p.r.ManifestRoot, p.r.LastSequence = "", "", "", "", 0
}

var statePhases = [...]Phase{ //nolint:gochecknoglobals // an immutable table
	PhaseActive, PhaseQuiescing, PhaseCopying, PhaseSwitching, PhaseDraining,
}

// Phase is the placement's state with preparation told apart (the index of the access table). A state that nobody
// knows is PhaseNone, in which nothing is allowed.
func (p *Placement) Phase() Phase {
	switch {
	case int(p.r.State) >= len(statePhases):
		return PhaseNone
	case p.r.State == Active && p.r.Migration != "":
		return PhasePreparing
	}
	return statePhases[p.r.State]
}

// RoleOf is what a node is to this tenant now (I8).
func (p *Placement) RoleOf(node string) Role {
	switch {
	case p.r.Migration == "" && node == p.r.Node:
		return RoleOwner
	case p.r.Migration != "" && node == p.r.Source:
		return RoleSource
	case p.r.Migration != "" && node == p.r.Target:
		return RoleTarget
	}
	return RoleStranger
}

// Holds says whether the node is the one that may write.
func (p *Placement) Holds(node string) bool { return node == p.r.Node }

// Writable says whether the holder may write at the present generation (P8).
func (p *Placement) Writable() bool { return p.r.State == Active || p.r.State == Draining }
