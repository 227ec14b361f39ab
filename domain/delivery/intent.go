package delivery

import (
	"slices"
	"strings"
	"time"

	"berth/domain/ident"
)

type intentEvent string

const (
	intentDeliver   intentEvent = "deliver"
	intentSucceed   intentEvent = "succeed"
	intentRollBack  intentEvent = "roll back"
	intentFail      intentEvent = "fail"
	intentSupersede intentEvent = "supersede"
)

// intentEdges is the machine of an intent. An agent that was cut off reports an end without having said that it began.
var intentEdges = []struct { //nolint:gochecknoglobals // the state machine
	from  IntentState
	event intentEvent
	to    IntentState
}{
	{IntentAccepted, intentDeliver, IntentDelivering},

	{IntentAccepted, intentSucceed, IntentSucceeded},
	{IntentDelivering, intentSucceed, IntentSucceeded},

	{IntentAccepted, intentRollBack, IntentRolledBack},
	{IntentDelivering, intentRollBack, IntentRolledBack},

	{IntentAccepted, intentFail, IntentFailed},
	{IntentDelivering, intentFail, IntentFailed},

	{IntentAccepted, intentSupersede, IntentSuperseded},
	{IntentDelivering, intentSupersede, IntentSuperseded},
}

// Edge is one line of a state diagram.
type Edge struct{ From, Event, To string }

// IntentDiagram is the state machine of an intent.
func IntentDiagram() []Edge {
	out := make([]Edge, 0, len(intentEdges))
	for _, e := range intentEdges {
		out = append(out, Edge{string(e.from), string(e.event), string(e.to)})
	}
	return out
}

// Intent is one thing that a customer asked for.
type Intent struct{ record IntentRecord }

// Granted is what becomes an intent: what was asked for, and the revision of the desired state that carries it.
type Granted struct {
	ID        string
	InstallID string
	License   string
	App       string
	Action    Action
	Version   string
	From      string // empty where nothing of the app was desired before
	Revision  int64
	Waived    []string // slugs of what observe mode let pass
}

// NewIntent makes an accepted intent.
func NewIntent(g Granted, now time.Time) *Intent {
	at := ident.Instant(now)
	return &Intent{IntentRecord{
		ID: g.ID, InstallID: g.InstallID, License: g.License, App: g.App, Action: g.Action, Version: g.Version, From: g.From,
		State: IntentAccepted, Revision: g.Revision, Waived: slices.Clone(g.Waived), CreatedAt: at, ChangedAt: at,
	}}
}

// RestoreIntent makes one of what was stored.
func RestoreIntent(record IntentRecord) *Intent {
	record.Waived = slices.Clone(record.Waived)
	return &Intent{record}
}

// Record returns what is to be stored.
func (v *Intent) Record() IntentRecord {
	r := v.record
	r.Waived = slices.Clone(r.Waived)
	return r
}

// InFlight says whether it has not ended yet.
func (v *Intent) InFlight() bool {
	return v.record.State == IntentAccepted || v.record.State == IntentDelivering
}

// Deliver notes that the agent works on it. This and the other events say whether they changed anything: an intent that
// ended stays as it ended, whatever is reported late.
func (v *Intent) Deliver(now time.Time, detail string) bool {
	return v.step(intentDeliver, now, detail)
}

// Succeed notes that what was asked for is so.
func (v *Intent) Succeed(now time.Time, detail string) bool {
	return v.step(intentSucceed, now, detail)
}

// RollBack notes that it failed, and that what ran before runs again (G5).
func (v *Intent) RollBack(now time.Time, detail string) bool {
	return v.step(intentRollBack, now, detail)
}

// Fail notes that it failed, and that what ran before does not run again.
func (v *Intent) Fail(now time.Time, detail string) bool { return v.step(intentFail, now, detail) }

// Supersede notes that a later revision took its place before it ended.
func (v *Intent) Supersede(now time.Time, detail string) bool {
	return v.step(intentSupersede, now, detail)
}

func (v *Intent) step(event intentEvent, now time.Time, detail string) bool {
	for _, e := range intentEdges {
		if e.from != v.record.State || e.event != event {
			continue
		}
		v.record.State, v.record.Detail, v.record.ChangedAt = e.to, clipDetail(detail), ident.Instant(now)
		if !v.InFlight() {
			v.record.EndedAt = v.record.ChangedAt
		}
		return true
	}
	return false
}

// clipDetail bounds a text that an agent sent, and leaves no half of a character behind.
func clipDetail(s string) string {
	const most = 1024
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "")
}
