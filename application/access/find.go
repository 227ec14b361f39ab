package access

import (
	"context"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

func missing(err error) bool { return fault.KindOf(err) == fault.NotFound }

// at names the field of the request that a miss is about.
func at(err error, slug, field string) error {
	if e, ok := fault.As(err); ok && e.Slug == slug {
		return e.At(field)
	}
	return err
}

// entered reads where a tenant stands and asks the access table whether the node may do this (I8). A tenant that does
// not exist, or can not, is answered like one that is another node's. Fault: NotFound not_found.
func entered(ctx context.Context, r *store.Roles, op authorization.Operation, tenant, node string) (store.Standing, error) {
	if ident.Check("tenant", tenant) != nil {
		return store.Standing{}, nothing()
	}
	s, err := r.Standings.Get(ctx, tenant)
	if missing(err) {
		return store.Standing{}, nothing()
	}
	if err != nil {
		return store.Standing{}, err
	}
	if err := decide(op, s.Placement, node); err != nil {
		return store.Standing{}, err
	}
	return s, nil
}

func decide(op authorization.Operation, p *placement.Placement, node string) error {
	if p == nil {
		return nothing()
	}
	return authorization.Decide(op, p.RoleOf(node), p.Phase())
}

func lets(op authorization.Operation, p *placement.Placement, node string) bool {
	return decide(op, p, node) == nil
}

// nothing refuses in the words of the access table, in which an operation without a row is allowed to nobody.
func nothing() error { return authorization.Decide("", placement.RoleStranger, placement.PhaseNone) }

// principalOf returns a tenant's device. One that does not exist is answered like one of another tenant.
// Fault: NotFound principal_not_found.
func principalOf(ctx context.Context, r *store.Roles, tenant, id string) (*authorization.Principal, error) {
	p, err := principal(ctx, r, id)
	if err != nil {
		return nil, err
	}
	if p.Record().Tenant != tenant {
		return nil, store.Missing("principal")
	}
	return p, nil
}

// principal returns a device by its id, which need not be of any form: it may come from a token that nobody signed.
func principal(ctx context.Context, r *store.Roles, id string) (*authorization.Principal, error) {
	if id == "" || len(id) > ident.MaxName || store.CheckText(id) != nil {
		return nil, store.Missing("principal")
	}
	return r.Principals.Get(ctx, id)
}

// homeRegion is where a tenant lives or waits to live; empty for one that does neither any more.
func homeRegion(ctx context.Context, r *store.Roles, s store.Standing) (string, error) {
	if s.Placement != nil {
		return s.Placement.Record().HomeRegion, nil
	}
	waiting, err := r.Queue.Get(ctx, s.Tenant.ID())
	if missing(err) {
		return "", nil
	}
	return waiting.Region, err
}

// deviceKeys is the ring of the keys that sign device tokens (I6, I9).
func deviceKeys(ctx context.Context, r *store.Roles) (*identity.KeyRing, error) {
	keys, err := r.Keys.OfPurpose(ctx, identity.KeyForDeviceTokens)
	if err != nil {
		return nil, err
	}
	records := make([]identity.SigningKeyRecord, 0, len(keys))
	for _, k := range keys {
		records = append(records, k.Record())
	}
	return identity.RestoreKeyRing(identity.KeyForDeviceTokens, records), nil
}

// inactive refuses a tenant that is not active, whatever else it is, with a slug of its own for each status.
func inactive(kind fault.Kind, s authorization.TenantStatus) error {
	switch s {
	case authorization.TenantActive:
		return nil
	case authorization.TenantSuspended:
		return fault.New(kind, "tenant_suspended", "the tenant is suspended")
	case authorization.TenantClosed:
	}
	return fault.New(kind, "tenant_closed", "the tenant is closed")
}
