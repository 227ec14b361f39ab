package leadership

import (
	"berth/domain/fault"
	"berth/domain/ident"
)

// Record is what a store keeps of a duty's leadership.
type Record struct {
	Duty   string
	Holder string // the process that leads; empty where none does
	Number int64  // of the term: raised by each claim, 0 before the first
	Beat   int64  // of the renewals within the term
}

// Term is who leads a duty.
type Term struct{ r Record }

// New is the leadership of a duty that nobody has led yet.
func New(duty string) *Term { return &Term{Record{Duty: duty}} }

// Restore is for stores.
func Restore(r Record) *Term { return &Term{r} }

// Record is the term's state, for stores and views.
func (t *Term) Record() Record { return t.r }

// Mark names one state of a term: the compare-and-set value of a claim.
type Mark struct {
	Holder       string
	Number, Beat int64
}

// Mark is the term's present state.
func (t *Term) Mark() Mark { return Mark{t.r.Holder, t.r.Number, t.r.Beat} }

type state uint8

const (
	vacant state = iota
	held
)

var stateNames = [...]string{"vacant", "held"} //nolint:gochecknoglobals // an immutable table

type event uint8

const (
	claim event = iota
	renew
	resign
)

var eventNames = [...]string{"claim", "renew", "resign"} //nolint:gochecknoglobals // an immutable table

var edges = []struct { //nolint:gochecknoglobals // the state machine
	from  state
	event event
	to    state
}{
	{vacant, claim, held},
	{held, renew, held},
	{held, resign, vacant},
	{held, claim, held}, // by another, who counted it out
}

func (t *Term) state() state {
	if t.r.Holder == "" {
		return vacant
	}
	return held
}

// step goes along an edge; who has the term then is what tells the states apart.
func (t *Term) step(e event, holder string) error {
	for _, edge := range edges {
		if edge.from == t.state() && edge.event == e {
			t.r.Holder = holder
			return nil
		}
	}
	return fault.New(fault.Conflict, "leadership_state_conflict", "a term that is %s has no step %q",
		stateNames[t.state()], eventNames[e])
}

// Claim makes holder the leader of the next term, in place of the state that it counted out, or found to be free
// (Watch.MayClaim). Faults: Invalid invalid_holder; Conflict leadership_renewed where the term is not in that state any
// more; Exhausted term_exhausted.
func (t *Term) Claim(holder string, counted Mark) error {
	const longest = 64
	if holder == "" || len(holder) > longest {
		return fault.New(fault.Invalid, "invalid_holder", "a holder is named by 1 to %d bytes", longest).At("holder")
	}
	if t.Mark() != counted {
		return fault.New(fault.Conflict, "leadership_renewed", "another process leads %s, or gave it up, since", t.r.Duty)
	}
	if t.r.Number >= ident.MaxCounter {
		return fault.New(fault.Exhausted, "term_exhausted", "the term can not grow any more")
	}
	if err := t.step(claim, holder); err != nil {
		return err
	}
	t.r.Number++
	t.r.Beat = 0
	return nil
}

// Renew says that holder still leads in the term of this number. Faults: Conflict not_leader; Exhausted beat_exhausted.
func (t *Term) Renew(holder string, number int64) error {
	if err := t.led(holder, number); err != nil {
		return err
	}
	if t.r.Beat >= ident.MaxCounter {
		return fault.New(fault.Exhausted, "beat_exhausted", "the beat can not grow any more")
	}
	if err := t.step(renew, holder); err != nil {
		return err
	}
	t.r.Beat++
	return nil
}

// Resign gives up the term of this number, so that anyone may claim the next at once. Its holder stops to believe itself
// leader first. Fault: Conflict not_leader.
func (t *Term) Resign(holder string, number int64) error {
	if err := t.led(holder, number); err != nil {
		return err
	}
	return t.step(resign, "")
}

// led refuses whoever is not the leader in the term of this number.
func (t *Term) led(holder string, number int64) error {
	if t.r.Holder != holder || t.r.Number != number {
		return fault.New(fault.Conflict, "not_leader", "this process does not lead %s in term %d", t.r.Duty, number)
	}
	return nil
}

// Edge is one line of a state diagram.
type Edge struct{ From, Event, To string }

// Diagram is the machine of a term.
func Diagram() []Edge {
	var out []Edge
	for _, e := range edges {
		out = append(out, Edge{stateNames[e.from], eventNames[e.event], stateNames[e.to]})
	}
	return out
}
