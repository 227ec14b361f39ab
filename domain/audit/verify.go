package audit

import (
	"slices"

	"berth/domain/fault"
)

// Damage is how a chain is broken; it is the slug of the fault inside a Break.
type Damage string

// The kinds of damage.
const (
	DamageGap       Damage = "audit_gap"       // the entry is missing
	DamageReordered Damage = "audit_reordered" // another entry stands in its place, doubled or moved
	DamageAltered   Damage = "audit_altered"   // the entry, or its tie to the one before, was changed
	DamageCut       Damage = "audit_cut"       // the entry and all after it are missing
	DamageExtended  Damage = "audit_extended"  // the entry stands behind the head
)

// Break is where a chain is first broken. It unwraps to a fault of kind Conflict whose slug is the damage.
type Break struct {
	Sequence int64 // the first sequence that is not as it was sealed
	Damage   Damage
}

// Error says what is broken and where.
func (b *Break) Error() string { return b.Unwrap().Error() }

// Unwrap returns the fault.
func (b *Break) Unwrap() error {
	return fault.New(fault.Conflict, string(b.Damage), "the audit chain is broken at sequence %d", b.Sequence)
}

// Verify checks a whole chain, from its first entry to a head that is known from elsewhere. The error is a *Break.
func Verify(head Head, entries []Entry) error {
	n := min(int64(len(entries)), max(head.Sequence, 0))
	end, err := VerifyFrom(Head{}, entries[:n])
	if err != nil {
		return err
	}
	if err := CheckEnd(end, head); err != nil {
		return err
	}
	if n < int64(len(entries)) {
		return &Break{Sequence: head.Sequence + 1, Damage: DamageExtended}
	}
	return nil
}

// VerifyFrom checks a part of a chain that begins behind a head and returns the head it ends in, to go on from. The
// error is a *Break; the head returned beside it is that of the last good entry.
func VerifyFrom(start Head, entries []Entry) (Head, error) {
	head := start
	for i, e := range entries {
		if damage := inspect(head, e, entries[i:]); damage != "" {
			return head, &Break{Sequence: head.Sequence + 1, Damage: damage}
		}
		head = e.Head()
	}
	return head, nil
}

// inspect compares the next entry with what the head calls for; rest begins with it.
func inspect(head Head, e Entry, rest []Entry) Damage {
	want := head.Sequence + 1
	switch {
	case e.Sequence < want || e.Sequence > want && holds(rest, want):
		return DamageReordered
	case e.Sequence > want:
		return DamageGap
	case e.Previous != head.Hash || e.Hash != e.digest():
		return DamageAltered
	}
	return ""
}

func holds(entries []Entry, sequence int64) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.Sequence == sequence })
}

// CheckEnd compares the head that a verified chain ends in with the one known from elsewhere. The error is a *Break.
func CheckEnd(end, known Head) error {
	switch {
	case end == known:
		return nil
	case end.Sequence < known.Sequence:
		return &Break{Sequence: end.Sequence + 1, Damage: DamageCut}
	case end.Sequence > known.Sequence:
		return &Break{Sequence: known.Sequence + 1, Damage: DamageExtended}
	}
	return &Break{Sequence: known.Sequence, Damage: DamageAltered}
}
