package access

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/ports/store"
)

// SuspendRequest names the tenant to suspend.
type SuspendRequest struct {
	Actor  audit.Actor
	Tenant string
}

// Suspend denies a tenant's devices everything until Resume; suspending again changes nothing.
// Faults: NotFound tenant_not_found; Conflict tenant_status_conflict; Exhausted revision_exhausted.
func (a *Access) Suspend(ctx context.Context, in SuspendRequest) (TenantView, error) {
	return a.setStatus(ctx, in.Actor, in.Tenant, statusChange{
		authorization.TenantSuspended, "tenant.suspended", (*authorization.Tenant).Suspend,
	})
}

type statusChange struct {
	to     authorization.TenantStatus
	action string
	do     func(*authorization.Tenant, time.Time) ([]authorization.Change, error)
}

func (a *Access) setStatus(ctx context.Context, actor audit.Actor, tenant string, c statusChange) (TenantView, error) {
	var view TenantView
	err := a.commit(ctx, actor, store.Ticket{}, func(ctx context.Context, w *work) error {
		s, err := w.Standings.Get(ctx, tenant)
		if err != nil {
			return err
		}
		if err := w.setStatus(ctx, s, c); err != nil {
			return err
		}
		region, err := homeRegion(ctx, w.Roles, s)
		view = viewOf(s, region)
		return err
	})
	if err != nil {
		return TenantView{}, err
	}
	return view, nil
}

func (w *work) setStatus(ctx context.Context, s store.Standing, c statusChange) error {
	if s.Tenant.Status() == c.to {
		return nil
	}
	changes, err := c.do(s.Tenant, w.now)
	if err != nil {
		return err
	}
	return w.amended(ctx, s, changes, c.action, nil)
}
