package placement

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// MigrationKind tells a planned move from a recover (P11).
type MigrationKind uint8

// The kinds of migration.
const (
	Move MigrationKind = iota
	Recovery
)

// Step is one thing that happened to a migration.
type Step struct {
	Name   string
	At     time.Time
	Detail string
}

// Failure says at which step a migration failed and why.
type Failure struct {
	Step   string
	Reason string
}

// DataLoss is the window of a recover: what was written after this is gone (P11).
type DataLoss struct {
	LastBackupAt time.Time
	LastSequence int64
}

// MigrationRecord is what a store keeps of a migration.
type MigrationRecord struct {
	ID             string
	Tenant         string
	Kind           MigrationKind
	Source         string
	Target         string
	Rehome         string // the region the tenant moves to; empty when it stays
	State          Phase  // preparing to failed
	Generation     int64  // the placement's before the switch
	SourcePrepared bool
	TargetPrepared bool
	BaseSequence   int64
	ManifestRoot   string
	LastSequence   int64
	StartedAt      time.Time
	ChangedAt      time.Time
	EndedAt        time.Time // zero while it runs
	Deadline       time.Time // of the present step; zero when ended
	Steps          []Step
	Failure        *Failure
	DataLoss       *DataLoss
}

// Migration moves one tenant from one node to another (P1–P7, P11). Its events step the migration and its placement
// together, or refuse and leave both as they were.
type Migration struct{ r MigrationRecord }

// RestoreMigration is for stores.
func RestoreMigration(r MigrationRecord) *Migration { return &Migration{r.clone()} }

// Record is the migration's state, for stores and views.
func (m *Migration) Record() MigrationRecord { return m.r.clone() }

// clone shares nothing with r.
func (r MigrationRecord) clone() MigrationRecord {
	r.Steps = append([]Step(nil), r.Steps...)
	if r.Failure != nil {
		r.Failure = new(*r.Failure)
	}
	if r.DataLoss != nil {
		r.DataLoss = new(*r.DataLoss)
	}
	return r
}

// Ended says whether nothing can happen to it any more.
func (m *Migration) Ended() bool { return m.r.State >= PhaseDone }

// RoleOf is what a node is to this migration: reports are judged by it, also after the placement moved on.
func (m *Migration) RoleOf(node string) Role {
	switch node {
	case m.r.Source:
		return RoleSource
	case m.r.Target:
		return RoleTarget
	}
	return RoleStranger
}

// Deadlines are how long each step of a migration may take.
type Deadlines struct {
	Prepare time.Duration
	Quiesce time.Duration
	Copy    time.Duration
	Drain   time.Duration
	// QuiesceUnprepared says what the prepare deadline does: true quiesces all the same (the pause is then longer),
	// false fails the migration.
	QuiesceUnprepared bool
}

// DefaultDeadlines are generous: a migration that needs longer is stuck.
func DefaultDeadlines() Deadlines {
	return Deadlines{Prepare: 30 * time.Minute, Quiesce: time.Minute, Copy: 10 * time.Minute, Drain: time.Minute}
}

// Check refuses deadlines below 1 s or above 7 days, each by name. Fault: Invalid invalid_deadline.
func (d Deadlines) Check() error {
	check := func(name string, v time.Duration) *fault.Error {
		if v >= time.Second && v <= 7*24*time.Hour {
			return nil
		}
		return fault.New(fault.Invalid, "invalid_deadline", "must lie between 1 s and 7 days").At("deadlines." + name)
	}
	return fault.All(check("prepare", d.Prepare), check("quiesce", d.Quiesce), check("copy", d.Copy), check("drain", d.Drain))
}

func (d Deadlines) of(p Phase) time.Duration {
	switch p { //nolint:exhaustive // the other phases have no deadline: switching is finished by the control plane itself
	case PhasePreparing:
		return d.Prepare
	case PhaseQuiescing:
		return d.Quiesce
	case PhaseCopying, PhaseSwitching:
		return d.Copy
	case PhaseDraining:
		return d.Drain
	}
	return 0
}

func (m *Migration) arm(d Deadlines, now time.Time) {
	m.r.Deadline = ident.Instant(now.Add(d.of(m.r.State)))
}

// Plan is what an operator, or a drain, asks for.
type Plan struct {
	ID     string // given by the control plane
	Rehome string // the target's region when it is not the tenant's home (P2)
}

// Prepare begins a migration to target (P2): the placement stays active and writes go on; room is reserved.
// source is the node that holds the placement. Faults: Conflict migration_in_flight, target_is_source,
// target_not_available, target_full, target_in_another_region; Invalid rehome_mismatch, invalid_text; Exhausted;
// Internal parties_mismatched.
func Prepare(plan Plan, p *Placement, source *Node, target Candidate, d Deadlines, now time.Time) (*Migration, error) {
	if p.r.Migration != "" || p.r.State != Active {
		return nil, inFlight(p)
	}
	if err := fault.All(text("id", plan.ID, 1, 64), source.is(p.r.Node)); err != nil {
		return nil, err
	}
	if err := target.mayReceive(p, plan.Rehome); err != nil {
		return nil, err
	}
	if err := fault.All(source.exhausted(), target.Node.exhausted()); err != nil {
		return nil, err
	}
	m := &Migration{MigrationRecord{
		ID: plan.ID, Tenant: p.r.Tenant, Source: p.r.Node, Target: target.Node.r.ID, Rehome: plan.Rehome,
		State: PhasePreparing, Generation: p.r.Generation, StartedAt: ident.Instant(now), ChangedAt: ident.Instant(now),
	}}
	if err := p.touch(now); err != nil {
		return nil, err
	}
	m.note("prepare", "to "+m.r.Target, now)
	m.arm(d, now)
	p.join(&m.r)
	target.Node.reserve()
	source.touch()
	return m, nil
}

func inFlight(p *Placement) error {
	return fault.New(fault.Conflict, "migration_in_flight", "migration %s of tenant %s has not ended",
		p.r.Migration, p.r.Tenant).Curable("wait for it, or abort it")
}

// Parties are the rows that a migration's events change together. A caller that brings other rows would corrupt their
// counters: Internal parties_mismatched.
type Parties struct {
	Placement *Placement
	Source    *Node // the migration's source; for Recover the node that holds the placement, which is the lost one
	Target    *Node // the migration's target; for Recover the other node of the migration that still runs, nil if none
}

// is refuses another row than the one named.
func (n *Node) is(id string) *fault.Error {
	if n != nil && n.r.ID == id {
		return nil
	}
	return fault.New(fault.Internal, "parties_mismatched", "the row of node %s is not the one brought to the event", id)
}

// joined refuses rows that are not the migration's, and those that it no longer moves.
func (m *Migration) joined(w Parties) error {
	if err := fault.All(w.Source.is(m.r.Source), w.Target.is(m.r.Target)); err != nil {
		return err
	}
	if err := m.bound(w.Placement); err != nil {
		return err
	}
	return fault.All(w.Source.exhausted(), w.Target.exhausted())
}

// bound refuses where placement and migration do not belong together: of two racing events one finds it so (P5).
func (m *Migration) bound(p *Placement) error {
	if p.r.Migration == m.r.ID && p.r.Tenant == m.r.Tenant && p.r.Generation == m.generationNow() &&
		p.r.ManifestRoot == m.r.ManifestRoot {
		return nil
	}
	return fault.New(fault.Conflict, "migration_superseded", "the placement of tenant %s has moved on from migration %s",
		m.r.Tenant, m.r.ID)
}

func (m *Migration) generationNow() int64 {
	if m.r.State == PhaseDraining || m.r.State == PhaseDone {
		return m.r.Generation + 1
	}
	return m.r.Generation
}

// advance steps both machines, or neither.
func (m *Migration) advance(w Parties, me migrationEvent, pe event, detail string, now time.Time) error {
	if err := m.joined(w); err != nil {
		return err
	}
	mm, pp := RestoreMigration(m.r), *w.Placement
	if err := mm.step(me, now, detail); err != nil {
		return err
	}
	if err := pp.step(pe, now); err != nil {
		return err
	}
	*m, *w.Placement = *mm, pp
	w.Source.touch()
	w.Target.touch()
	return nil
}

// Quiesce ends preparation: the source is to fence and drain (P2, P3). Both nodes have prepared, or the deadline has
// passed and the setting goes on without. Fault: Conflict not_prepared.
func (m *Migration) Quiesce(w Parties, d Deadlines, now time.Time) error {
	if m.r.State == PhasePreparing && m.Due(d, true, now) != DoQuiesce {
		return fault.New(fault.Conflict, "not_prepared", "source and target have not both prepared").
			Curable("wait for both, or for the prepare deadline")
	}
	if err := m.advance(w, mQuiesce, begin, "", now); err != nil {
		return err
	}
	m.arm(d, now)
	return nil
}

// SwitchOver is the one moment at which the writer changes (P5): the generation grows by exactly one, node and, when
// rehoming, region are the target's. It is a compare-and-set on migration, state, generation and manifest root.
func (m *Migration) SwitchOver(w Parties, d Deadlines, now time.Time) error {
	if w.Placement.r.Generation >= ident.MaxCounter {
		return fault.New(fault.Exhausted, "generation_exhausted", "the generation can not grow any more")
	}
	if err := m.advance(w, mSwitch, switchOver, "", now); err != nil {
		return err
	}
	p := &w.Placement.r
	p.Generation++
	p.Node = m.r.Target
	if m.r.Rehome != "" {
		p.HomeRegion = m.r.Rehome
	}
	w.Source.depart()
	w.Target.arrive()
	m.arm(d, now)
	return nil
}

// Abort returns to active on the source at the same generation (P6). After the switch it is refused.
func (m *Migration) Abort(w Parties, reason string, now time.Time) error {
	return m.giveUp(w, mAbort, reason, now)
}

// Fail is an abort for a reason that is nobody's wish: a node's report or a deadline.
func (m *Migration) Fail(w Parties, step, reason string, now time.Time) error {
	if err := m.giveUp(w, mFail, step+": "+reason, now); err != nil {
		return err
	}
	m.r.Failure = &Failure{Step: clip(step), Reason: clip(reason)}
	return nil
}

func (m *Migration) giveUp(w Parties, me migrationEvent, detail string, now time.Time) error {
	if m.r.State == PhasePreparing { // the placement is active already: only its binding ends
		if err := m.joined(w); err != nil {
			return err
		}
		if err := w.Placement.touch(now); err != nil {
			return err
		}
		if err := m.step(me, now, detail); err != nil {
			return err
		}
		w.Source.touch()
	} else if err := m.advance(w, me, abort, detail, now); err != nil {
		return err
	}
	w.Placement.leave()
	w.Target.unreserve()
	return nil
}

// DrainDeadline ends a drain whose source did not report: only a source whose lease ran out is surely fenced (P7, P9).
// Faults: Conflict source_not_fenced; Internal parties_mismatched where the lease is another node's.
func (m *Migration) DrainDeadline(w Parties, source *Lease, now time.Time) error {
	if source.r.Node != m.r.Source {
		return fault.New(fault.Internal, "parties_mismatched", "the lease is not the one of node %s", m.r.Source)
	}
	if source.Live() || now.Before(m.r.Deadline) {
		return fault.New(fault.Conflict, "source_not_fenced", "node %s has not reported the end of its drain and its lease runs",
			m.r.Source)
	}
	return m.end(w, mDrainDeadline, drainDeadline, now)
}

func (m *Migration) end(w Parties, me migrationEvent, pe event, now time.Time) error {
	if err := m.advance(w, me, pe, "", now); err != nil {
		return err
	}
	w.Placement.leave()
	return nil
}
