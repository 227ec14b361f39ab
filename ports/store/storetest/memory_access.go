package storetest

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/store"
)

func tenantKind() kind[*authorization.Tenant, authorization.TenantRecord] {
	return kind[*authorization.Tenant, authorization.TenantRecord]{
		thing: "tenant", tree: func(s *state) *tree[authorization.TenantRecord] { return &s.tenants },
		key:    func(r authorization.TenantRecord) string { return r.ID },
		record: (*authorization.Tenant).Record, restore: authorization.RestoreTenant,
		tenant: func(r authorization.TenantRecord) string { return r.ID },
	}
}

type tenants struct {
	aggregate[*authorization.Tenant, authorization.TenantRecord]
}

func (t tenants) List(_ context.Context, p store.Page) ([]*authorization.Tenant, error) {
	return t.page(p, anything)
}

func principalKind() kind[*authorization.Principal, authorization.PrincipalRecord] {
	return kind[*authorization.Principal, authorization.PrincipalRecord]{
		thing: "principal", tree: func(s *state) *tree[authorization.PrincipalRecord] { return &s.principals },
		key:    func(r authorization.PrincipalRecord) string { return r.ID },
		record: (*authorization.Principal).Record, restore: authorization.RestorePrincipal,
	}
}

type principals struct {
	aggregate[*authorization.Principal, authorization.PrincipalRecord]
}

func (p principals) OfTenant(_ context.Context, tenant string, at store.Page) ([]*authorization.Principal, error) {
	return p.page(at, func(r authorization.PrincipalRecord) bool { return r.Tenant == tenant }, tenant)
}

type handles struct{ *tx }

func handleKey(r authorization.HandleRecord) string { return compound(r.Tenant, r.Digest.String()) }

func (h handles) Add(_ context.Context, hs []*authorization.Handle) error {
	return h.put(hs, func(key string) error {
		if h.state.handles.has(key) {
			return store.Taken("handle")
		}
		return nil
	})
}

func (h handles) Save(_ context.Context, hs []*authorization.Handle) error {
	before := h.state.handles
	return h.put(hs, func(key string) error {
		if !before.has(key) {
			return store.Missing("handle")
		}
		return nil
	})
}

// put writes all or none.
func (h handles) put(hs []*authorization.Handle, check func(key string) error) error {
	if err := h.writing(); err != nil {
		return err
	}
	before, owed := h.state.handles, h.owed
	for _, v := range hs {
		if err := h.putOne(v.Record(), check); err != nil {
			h.state.handles, h.owed = before, owed
			return err
		}
	}
	return nil
}

func (h handles) putOne(r authorization.HandleRecord, check func(key string) error) error {
	r, err := adopt(r)
	if err != nil {
		return err
	}
	if err := check(handleKey(r)); err != nil {
		return err
	}
	h.state.handles = h.state.handles.put(handleKey(r), r)
	h.owe(func(s *state) bool { return s.principals.has(r.Principal) })
	return nil
}

func (h handles) OfPrincipal(_ context.Context, tenant, principal string) ([]*authorization.Handle, error) {
	return h.list(func(r authorization.HandleRecord) bool { return r.Principal == principal }, tenant, principal)
}

func (h handles) OfTenant(_ context.Context, tenant string) ([]*authorization.Handle, error) {
	return h.list(anything, tenant)
}

func (h handles) list(passes func(authorization.HandleRecord) bool, tenant string, keys ...string) ([]*authorization.Handle, error) {
	if err := h.reading(append(keys, tenant)...); err != nil {
		return nil, err
	}
	var out []*authorization.Handle
	for _, r := range h.state.handles.span(within(tenant), "", math.MaxInt) {
		if passes(r) {
			out = append(out, authorization.RestoreHandle(r))
		}
	}
	return out, nil
}

type routes struct{ *tx }

func (t routes) Create(_ context.Context, v authorization.Route) error {
	r, err := adopt(v.Record())
	if err != nil {
		return err
	}
	if err := t.writing(); err != nil {
		return err
	}
	key := compound(r.Tenant, r.ID)
	if t.state.routes.has(key) {
		return store.Taken("route")
	}
	t.state.routes = t.state.routes.put(key, r)
	return nil
}

func (t routes) Get(_ context.Context, tenant, id string) (authorization.Route, error) {
	if err := t.reading(tenant, id); err != nil {
		return authorization.Route{}, err
	}
	r, found := t.state.routes.get(compound(tenant, id))
	if !found {
		return authorization.Route{}, store.Missing("route")
	}
	return authorization.RestoreRoute(r), nil
}

func (t routes) OfTenant(_ context.Context, tenant string, p store.Page) ([]authorization.Route, error) {
	if err := t.reading(tenant, p.After); err != nil {
		return nil, err
	}
	var out []authorization.Route
	for _, r := range t.state.routes.span(within(tenant), compound(tenant, p.After), p.Size()) {
		out = append(out, authorization.RestoreRoute(r))
	}
	return out, nil
}

type changes struct{ *tx }

func (c changes) Append(_ context.Context, tenant string, cs []authorization.Change) error {
	if err := c.writing(tenant); err != nil {
		return err
	}
	next := c.state.changes
	for _, v := range cs {
		v, err := adopt(v)
		if err != nil {
			return err
		}
		key := compound(tenant, number(v.Revision), number(int64(v.Part)))
		if next.has(key) {
			return store.Taken("change")
		}
		next = next.put(key, v)
	}
	c.state.changes = next
	return nil
}

func (c changes) Since(_ context.Context, tenant string, from int64, limit int) ([]authorization.Change, error) {
	if err := c.reading(tenant); err != nil {
		return nil, err
	}
	return c.state.changes.span(within(tenant), compound(tenant, number(from+1)), max(limit, 1)), nil
}

func (c changes) Drop(_ context.Context, tenant string, floor int64) error {
	if err := c.writing(tenant); err != nil {
		return err
	}
	for key, v := range c.state.changes.above(within(tenant)) {
		if key >= compound(tenant, number(floor+1)) || v.Revision > floor {
			break
		}
		c.state.changes = c.state.changes.remove(key)
	}
	return nil
}

type standings struct{ *tx }

func (s standings) Get(_ context.Context, tenant string) (store.Standing, error) {
	if err := s.reading(tenant); err != nil {
		return store.Standing{}, err
	}
	at, found := s.find(tenant)
	if !found {
		return store.Standing{}, store.Missing("tenant")
	}
	return at, nil
}

func (s standings) find(tenant string) (store.Standing, bool) {
	head, found := s.state.tenants.get(tenant)
	if !found {
		return store.Standing{}, false
	}
	at := store.Standing{Tenant: authorization.RestoreTenant(head)}
	if p, placed := s.state.placements.get(tenant); placed {
		at.Placement = placement.Restore(p)
	}
	return at, true
}

func (s standings) Differing(_ context.Context, node string, known []store.Known) ([]store.Standing, []string, error) {
	if err := s.reading(node); err != nil {
		return nil, nil, err
	}
	absent, differing := map[string]bool{}, map[string]store.Standing{}
	for _, k := range known {
		if err := s.reading(k.Tenant); err != nil {
			return nil, nil, err
		}
		at, found := s.find(k.Tenant)
		switch {
		case !found:
			absent[k.Tenant] = true
		case !at.As(node, k):
			differing[k.Tenant] = at
		}
	}
	out := slices.SortedFunc(maps.Values(differing), func(a, b store.Standing) int {
		return cmp.Compare(a.Tenant.ID(), b.Tenant.ID())
	})
	return out, slices.Sorted(maps.Keys(absent)), nil
}
