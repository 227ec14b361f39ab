package watch

import "context"

// Leader says whether this replica runs the duties that one replica is enough for.
type Leader interface {
	// Leads says whether this replica leads now.
	Leads() bool
	// Lead is for one run of a duty: the context it returns ends with ctx, and soon after this replica ceased to lead.
	// ok is false where it does not lead; else release is to be called after the run.
	Lead(ctx context.Context) (leading context.Context, release context.CancelFunc, ok bool)
	// Taken returns a channel that is closed when this replica next begins to lead.
	Taken() <-chan struct{}
	// Duties are what gets and keeps the leadership. They run everywhere.
	Duties() []Duty
	// Resign ends the leadership, once no duty runs any more, so that another replica can take it at once.
	Resign(ctx context.Context)
}

// Alone is the leader where there is no other replica: it leads at once and for ever, and stores nothing.
type Alone struct{}

var _ Leader = Alone{}

// Leads is true.
func (Alone) Leads() bool { return true }

// Lead returns the context as it is.
func (Alone) Lead(ctx context.Context) (context.Context, context.CancelFunc, bool) {
	return ctx, func() {}, true
}

// Taken returns a channel that is never closed: it led before.
func (Alone) Taken() <-chan struct{} { return nil }

// Duties are none.
func (Alone) Duties() []Duty { return nil }

// Resign does nothing: there is nobody to take over.
func (Alone) Resign(context.Context) {}
