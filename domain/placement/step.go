package placement

import (
	"slices"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

type migrationEvent uint8

const (
	mQuiesce migrationEvent = iota
	mQuiesced
	mCopied
	mSwitch
	mDrained
	mDrainDeadline
	mAbort
	mFail
	mSupersede
)

var migrationEventNames = [...]string{ //nolint:gochecknoglobals // an immutable table
	"quiesce", "quiesced", "copied", "switch", "drained", "drain deadline", "abort", "fail", "supersede",
}

// migrationEdges is the machine of the record around a move. It enters at preparing, a recover at copying.
var migrationEdges = []struct { //nolint:gochecknoglobals // the state machine
	from  Phase
	event migrationEvent
	to    Phase
}{
	{PhasePreparing, mQuiesce, PhaseQuiescing},
	{PhaseQuiescing, mQuiesced, PhaseCopying},
	{PhaseCopying, mCopied, PhaseSwitching},
	{PhaseSwitching, mSwitch, PhaseDraining},
	{PhaseDraining, mDrained, PhaseDone},
	{PhaseDraining, mDrainDeadline, PhaseDone},

	{PhasePreparing, mAbort, PhaseAborted},
	{PhaseQuiescing, mAbort, PhaseAborted},
	{PhaseCopying, mAbort, PhaseAborted},
	{PhaseSwitching, mAbort, PhaseAborted},

	{PhasePreparing, mFail, PhaseFailed},
	{PhaseQuiescing, mFail, PhaseFailed},
	{PhaseCopying, mFail, PhaseFailed},
	{PhaseSwitching, mFail, PhaseFailed},

	{PhasePreparing, mSupersede, PhaseFailed},
	{PhaseQuiescing, mSupersede, PhaseFailed},
	{PhaseDraining, mSupersede, PhaseFailed},
}

func (m *Migration) step(e migrationEvent, now time.Time, detail string) error {
	if err := dated(now); err != nil {
		return err
	}
	for _, edge := range migrationEdges {
		if edge.from == m.r.State && edge.event == e {
			m.r.State = edge.to
			m.r.ChangedAt = ident.Instant(now)
			m.note(migrationEventNames[e], detail, now)
			if m.Ended() {
				m.r.EndedAt, m.r.Deadline = m.r.ChangedAt, time.Time{}
			}
			return nil
		}
	}
	return fault.New(fault.Conflict, "migration_state_conflict", "a migration that is %s has no step %q",
		m.r.State, migrationEventNames[e]).Curable("look at the migration: it may have ended, or passed the switch")
}

// noteLimit bounds what reports add to a migration; the first notes stay, since they tell how it came about. What the
// machine itself did is always noted: no migration has more than a handful of steps.
const noteLimit = 64

func (m *Migration) remark(name, detail string, now time.Time) {
	if len(m.r.Steps) < noteLimit {
		m.note(name, detail, now)
	}
}

func (m *Migration) note(name, detail string, now time.Time) {
	m.r.Steps = append(slices.Clip(m.r.Steps),
		Step{Name: name, At: ident.Instant(now), Detail: clip(detail)})
}

// clip bounds a text that a node sent, and leaves no half of a character behind.
func clip(s string) string {
	const most = 512
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}

// Edge is one line of a state diagram.
type Edge struct{ From, Event, To string }

// Diagram is the placement's state machine.
func Diagram() []Edge {
	var out []Edge
	for _, e := range edges {
		out = append(out, Edge{e.from.String(), eventNames[e.event], e.to.String()})
	}
	return out
}

// MigrationDiagram is the machine of the migration record.
func MigrationDiagram() []Edge {
	var out []Edge
	for _, e := range migrationEdges {
		out = append(out, Edge{e.from.String(), migrationEventNames[e.event], e.to.String()})
	}
	return out
}

// NodeDiagram is the machine of a node's status.
func NodeDiagram() []Edge {
	var out []Edge
	for _, e := range nodeEdges {
		out = append(out, Edge{e.from.String(), nodeEventNames[e.event], e.to.String()})
	}
	return out
}
