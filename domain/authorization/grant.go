package authorization

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Admit adds a new principal and its first handles. The store then creates the principal and the handles.
// Faults: NotFound principal_not_found for one of another tenant; Conflict tenant_suspended, tenant_closed,
// principal_revoked; Exhausted principals_exhausted, handles_exhausted, principal_handles_exhausted,
// revision_exhausted; Internal handle_mismatch.
func (t *Tenant) Admit(p *Principal, handles []*Handle, limits Limits, now time.Time) ([]Change, error) {
	if err := t.mayGrant(p, handles, limits); err != nil {
		return nil, err
	}
	if err := fault.All(limits.principals(t.r.Principals + 1)); err != nil {
		return nil, err
	}
	t.r.Principals++
	if p.r.Role == Owner {
		t.r.Owners++
	}
	changes := append([]Change{{Kind: ChangePrincipal, Principal: p.view()}}, t.take(p, handles)...)
	return t.commit(now, changes...), nil
}

// Grant gives an admitted principal more handles. The store then saves the principal and adds the handles. Without
// handles it changes nothing. Faults as of Admit, without principals_exhausted.
func (t *Tenant) Grant(p *Principal, handles []*Handle, limits Limits, now time.Time) ([]Change, error) {
	if len(handles) == 0 {
		return nil, nil
	}
	if err := t.mayGrant(p, handles, limits); err != nil {
		return nil, err
	}
	return t.commit(now, t.take(p, handles)...), nil
}

// AddRoute makes a route: an operator or an owner may (A8). The store then creates it.
// Faults: Invalid invalid_id; Forbidden route_not_allowed; Conflict tenant_suspended, tenant_closed; Exhausted
// routes_exhausted, revision_exhausted. That the id is free is the store's to decide.
func (t *Tenant) AddRoute(id string, by Requester, limits Limits, now time.Time) (Route, []Change, error) {
	if err := fault.All(ident.Check("id", id)); err != nil {
		return Route{}, nil, err
	}
	if !by.operator() && !by.activeOwner(t) {
		return Route{}, nil, fault.New(fault.Forbidden, "route_not_allowed", "only owners make routes")
	}
	if err := t.canGrant(); err != nil {
		return Route{}, nil, err
	}
	if err := fault.All(limits.routes(t.r.Routes + 1)); err != nil {
		return Route{}, nil, err
	}
	t.r.Routes++
	route := Route{RouteRecord{Tenant: t.r.ID, ID: id, CreatedAt: ident.Instant(now), CreatedBy: by.subject()}}
	return route, t.commit(now, Change{Kind: ChangeRoute, Route: id}), nil
}

func (t *Tenant) mayGrant(p *Principal, handles []*Handle, limits Limits) error {
	if p.r.Tenant != t.r.ID {
		return errNoPrincipal()
	}
	if err := t.canGrant(); err != nil {
		return err
	}
	if !p.Active() {
		return fault.New(fault.Conflict, "principal_revoked", "the device is revoked").Curable("pair the device anew")
	}
	for _, h := range handles {
		if !h.of(p) || h.r.Status != Active {
			return errHandleMismatch()
		}
	}
	return fault.All(limits.handles(t.r.Handles+len(handles), p.r.Handles+len(handles)))
}

// take counts the handles in and returns their changes.
func (t *Tenant) take(p *Principal, handles []*Handle) []Change {
	t.r.Handles += len(handles)
	p.r.Handles += len(handles)
	changes := make([]Change, 0, len(handles))
	for _, h := range handles {
		changes = append(changes, Change{Kind: ChangeHandle, Handle: h.view()})
	}
	return changes
}

func errNoPrincipal() error {
	return fault.New(fault.NotFound, "principal_not_found", "the tenant has no such device")
}

func errHandleMismatch() error {
	return fault.New(fault.Internal, "handle_mismatch", "the handles are not those of the principal")
}
