package storetest

import "berth/ports/store"

// Faults are what a Memory does wrong. Each function may be nil; its error is what the caller gets.
type Faults struct {
	Begin  func() error // asked before every call: the database is away
	Commit func() error // asked when a transaction's function succeeded: it then is not kept
	Answer func() error // asked after a commit: it is kept, and the caller does not learn it
	Twice  bool         // every function given to Atomically, and every decide, runs twice, the first time in vain
}

// Inject orders faults from now on; the zero Faults end them.
func (m *Memory) Inject(f Faults) { m.faults.Store(&f) }

// Always fails with err each time.
func Always(err error) func() error { return func() error { return err } }

// Unavailable is how a database that is away answers.
func Unavailable() error { return store.Away(nil) }

// CommitUnknown is how a store answers that can not tell whether a commit happened.
func CommitUnknown() error { return store.Unknown(nil) }

func (f *Faults) begin() error  { return ask(f.Begin) }
func (f *Faults) commit() error { return ask(f.Commit) }
func (f *Faults) answer() error { return ask(f.Answer) }

func ask(fault func() error) error {
	if fault == nil {
		return nil
	}
	return fault()
}
