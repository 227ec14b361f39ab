package access

import (
	"context"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/ports/store"
)

// CreateRouteRequest names a route to make.
type CreateRouteRequest struct {
	Actor  audit.Actor
	Tenant string
	ID     string
}

// CreateRoute adds a durable stream to a tenant (A8). It gives nobody a handle: a handle is shown once and to its device
// only, and no device asks here. Devices that pair later get one for this route too.
// Faults: Invalid invalid_id; NotFound tenant_not_found; AlreadyExists route_exists; Conflict tenant_suspended,
// tenant_closed; Exhausted routes_exhausted, revision_exhausted.
func (a *Access) CreateRoute(ctx context.Context, in CreateRouteRequest) (authorization.RouteRecord, error) {
	var out authorization.RouteRecord
	err := a.commit(ctx, in.Actor, store.Ticket{}, func(ctx context.Context, w *work) error {
		s, err := w.Standings.Get(ctx, in.Tenant)
		if err != nil {
			return err
		}
		route, changes, err := s.Tenant.AddRoute(in.ID, authorization.ByOperator(in.Actor.ID), a.Settings.Limits, w.now)
		if err != nil {
			return err
		}
		if err := w.Routes.Create(ctx, route); err != nil {
			return at(err, "route_exists", "id")
		}
		out = route.Record()
		return w.amended(ctx, s, changes, "route.created", map[string]string{"route": in.ID})
	})
	if err != nil {
		return authorization.RouteRecord{}, err
	}
	return out, nil
}
