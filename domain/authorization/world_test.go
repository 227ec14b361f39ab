package authorization_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
)

const (
	tenantID = "acme"
	regionID = "eu"
)

var dawn = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newTenant(t failer) (*authorization.Tenant, authorization.Route) {
	t.Helper()
	tenant, main, err := authorization.NewTenant(tenantID, dawn)
	if err != nil {
		t.Fatalf("new tenant: %v", err)
	}
	return tenant, main
}

// world is a tenant with all that a store would keep of it.
type world struct {
	t          failer
	tenant     *authorization.Tenant
	routes     []authorization.Route
	principals []*authorization.Principal
	handles    map[string][]*authorization.Handle // by principal
	log        []authorization.Change
	limits     authorization.Limits
	made       int
	now        time.Time
}

func newWorld(t failer) *world {
	t.Helper()
	tenant, main := newTenant(t)
	return &world{
		t: t, tenant: tenant, routes: []authorization.Route{main}, handles: map[string][]*authorization.Handle{},
		limits: authorization.DefaultLimits(), now: dawn,
	}
}

func id(p *authorization.Principal) string { return p.Record().ID }

func digestOf(n int) authorization.Digest {
	return authorization.Digest{byte(n >> 16), byte(n >> 8), byte(n), 0xd1}
}

func (w *world) principal(role authorization.Role) *authorization.Principal {
	w.t.Helper()
	w.made++
	p, err := authorization.NewPrincipal(authorization.PrincipalSpec{
		Tenant: tenantID, ID: fmt.Sprintf("prn_%06d", w.made), Kind: authorization.Phone, Role: role, Name: "phone",
		PublicKey: slices.Repeat([]byte{7}, 32),
	}, w.now)
	if err != nil {
		w.t.Fatalf("new principal: %v", err)
	}
	return p
}

func (w *world) handlesFor(p *authorization.Principal, n int) []*authorization.Handle {
	w.t.Helper()
	var out []*authorization.Handle
	for range n {
		w.made++
		h, err := authorization.NewHandle(digestOf(w.made), p, w.routes[w.made%len(w.routes)], w.now)
		if err != nil {
			w.t.Fatalf("new handle: %v", err)
		}
		out = append(out, h)
	}
	return out
}

// admit admits a new principal with n handles.
func (w *world) admit(role authorization.Role, n int) (*authorization.Principal, error) {
	w.t.Helper()
	p := w.principal(role)
	handles := w.handlesFor(p, n)
	changes, err := w.tenant.Admit(p, handles, w.limits, w.now)
	if err != nil {
		return nil, err
	}
	w.principals = append(w.principals, p)
	w.handles[id(p)] = handles
	w.log = append(w.log, changes...)
	return p, nil
}

func (w *world) mustAdmit(role authorization.Role, n int) *authorization.Principal {
	w.t.Helper()
	p, err := w.admit(role, n)
	if err != nil {
		w.t.Fatalf("admit: %v", err)
	}
	return p
}

func (w *world) grant(p *authorization.Principal, n int) error {
	w.t.Helper()
	handles := w.handlesFor(p, n)
	changes, err := w.tenant.Grant(p, handles, w.limits, w.now)
	if err != nil {
		return err
	}
	w.handles[id(p)] = append(w.handles[id(p)], handles...)
	w.log = append(w.log, changes...)
	return nil
}

func (w *world) addRoute(by authorization.Requester) error {
	w.made++
	route, changes, err := w.tenant.AddRoute(fmt.Sprintf("route-%d", w.made), by, w.limits, w.now)
	if err != nil {
		return err
	}
	w.routes = append(w.routes, route)
	w.log = append(w.log, changes...)
	return nil
}

func (w *world) revoke(p *authorization.Principal, by authorization.Requester) (authorization.Revocation, error) {
	r, err := w.tenant.Revoke(p, w.handles[id(p)], by, w.now)
	w.log = append(w.log, r.Changes...)
	return r, err
}

func (w *world) status(event func(time.Time) ([]authorization.Change, error)) error {
	changes, err := event(w.now)
	w.log = append(w.log, changes...)
	return err
}

func (w *world) compact(keep int) {
	floor := w.tenant.Compact(keep)
	w.log = slices.DeleteFunc(w.log, func(c authorization.Change) bool { return c.Revision <= floor })
}

// since is what a store reads of the change log.
func (w *world) since(from int64) []authorization.Change {
	var out []authorization.Change
	for _, c := range w.log {
		if c.Revision > from && len(out) <= authorization.MaxDelta {
			out = append(out, c)
		}
	}
	return out
}

func (w *world) allHandles() []*authorization.Handle {
	var out []*authorization.Handle
	for _, p := range w.principals {
		out = append(out, w.handles[id(p)]...)
	}
	return out
}

func ownerPlace() authorization.Place {
	return authorization.Place{
		Generation: 1, Version: 1, LeaseEpoch: 1, Role: placement.RoleOwner, Phase: placement.PhaseActive,
	}
}

func (w *world) snapshot(at authorization.Place) authorization.Snapshot {
	w.t.Helper()
	s, err := w.tenant.Snapshot(at, w.principals, w.allHandles(), w.routes)
	if err != nil {
		w.t.Fatalf("snapshot: %v", err)
	}
	return s
}

func wantSlug(t *testing.T, err error, kind fault.Kind, slug string) {
	t.Helper()
	if err == nil {
		t.Fatalf("want %s %s, got no fault", kind, slug)
	}
	if fault.KindOf(err) != kind || fault.SlugOf(err) != slug {
		t.Fatalf("want %s %s, got %v", kind, slug, err)
	}
}

func wantNone(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("want no fault, got %v", err)
	}
}
