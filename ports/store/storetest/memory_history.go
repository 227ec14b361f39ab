package storetest

import (
	"berth/domain/leadership"
)

func leaderKind() kind[*leadership.Term, leadership.Record] {
	return kind[*leadership.Term, leadership.Record]{
		thing: "leader", tree: func(s *state) *tree[leadership.Record] { return &s.leaders },
		key:    func(r leadership.Record) string { return r.Duty },
		record: (*leadership.Term).Record, restore: leadership.Restore,
	}
}

// Copy is what a Memory held at one time, as a copy that lags behind has it, or a backup.
type Copy struct{ state *state }

// Copy takes a copy of what was committed.
func (m *Memory) Copy() Copy { return Copy{m.state.Load()} }

// FailOver makes the store go on from a copy, in the history named origin: what was committed since is lost.
func (m *Memory) FailOver(to Copy, origin string) {
	m.writer <- struct{}{} // a transaction that runs belongs to the history before
	defer func() { <-m.writer }()
	next := *to.state
	next.origin = origin
	m.state.Store(&next)
}
