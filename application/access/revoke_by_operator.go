package access

import (
	"context"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/ports/store"
)

// RevokeByOperatorRequest names the device to revoke.
type RevokeByOperatorRequest struct {
	Actor     audit.Actor
	Tenant    string
	Principal string
}

// RevokeByOperator revokes a device for good, the last owner and a suspended tenant's included (A5). Repeating it changes
// nothing and answers the same. Faults: NotFound tenant_not_found, principal_not_found; Exhausted revision_exhausted.
func (a *Access) RevokeByOperator(ctx context.Context, in RevokeByOperatorRequest) (RevokedAnswer, error) {
	var out RevokedAnswer
	err := a.commit(ctx, in.Actor, store.Ticket{}, func(ctx context.Context, w *work) error {
		s, err := w.Standings.Get(ctx, in.Tenant)
		if err != nil {
			return err
		}
		p, err := principalOf(ctx, w.Roles, in.Tenant, in.Principal)
		if err != nil {
			return err
		}
		out, err = w.revoke(ctx, s, p, authorization.ByOperator(in.Actor.ID), nil)
		return err
	})
	if err != nil {
		return RevokedAnswer{}, err
	}
	return out, nil
}
