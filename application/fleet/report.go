package fleet

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// Report is what every report of a node on a migration carries.
type Report struct {
	Caller     identity.Caller
	Ticket     store.Ticket
	Migration  string
	Generation int64 // the migration's; the one after it for drained; 0 where the form of a report leaves it out
}

func (in Report) reporter() placement.Reporter {
	return placement.Reporter{Node: in.Caller.Node, Generation: in.Generation}
}

// report takes a node's word on a migration in one transaction. Whoever may not give it learns nothing, not even that
// the migration exists (I8). A report that changes nothing writes nothing but its ticket.
func (f *Fleet) report(ctx context.Context, in Report, op authorization.Operation,
	do func(context.Context, *work, *move) error,
) error {
	return f.commit(ctx, nodeActor(in.Caller), in.Ticket, func(ctx context.Context, w *work) error {
		m, err := w.Migrations.Get(ctx, in.Migration)
		if missing(err) {
			return denied(op, err)
		}
		if err != nil {
			return err
		}
		if err := authorization.Decide(op, m.RoleOf(in.Caller.Node), m.Record().State); err != nil {
			return err
		}
		mv, err := w.around(ctx, m)
		if err != nil {
			return err
		}
		return do(ctx, w, mv)
	})
}

// denied answers for what does not exist exactly as for what is another's.
func denied(op authorization.Operation, miss error) error {
	if err := authorization.Decide(op, placement.RoleStranger, placement.PhaseNone); err != nil {
		return err
	}
	return miss
}
