package access

import (
	"context"

	"berth/domain/audit"
	"berth/domain/authorization"
)

// ResumeRequest names the tenant whose suspension is to end.
type ResumeRequest struct {
	Actor  audit.Actor
	Tenant string
}

// Resume ends a tenant's suspension; what its devices might do before they may do again, unless it was revoked in
// between. Resuming an active tenant changes nothing.
// Faults: NotFound tenant_not_found; Conflict tenant_status_conflict; Exhausted revision_exhausted.
func (a *Access) Resume(ctx context.Context, in ResumeRequest) (TenantView, error) {
	return a.setStatus(ctx, in.Actor, in.Tenant, statusChange{
		authorization.TenantActive, "tenant.resumed", (*authorization.Tenant).Resume,
	})
}
