package access_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"berth/application/access"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/notify"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

func create(id, region string) access.CreateTenantRequest {
	return access.CreateTenantRequest{Actor: alice, ID: id, HomeRegion: region}
}

// A tenant is made with its main route and its place, at revision 1, and both tenant and node are hinted at.
func TestCreateTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mem.Inject(storetest.Faults{Twice: true})
	view, err := w.CreateTenant(w.ctx, create("acme", "eu"))
	w.must(err)
	if view.HomeRegion != "eu" || view.Placement == nil || view.Placement.Node != "a" || view.Placement.Generation != 1 {
		t.Fatalf("the tenant stands at %+v, %+v", view, view.Placement)
	}
	if r := view.Tenant; r.Status != authorization.TenantActive || r.Revision != 1 || r.Routes != 1 {
		t.Fatalf("the head is %+v", r)
	}
	routes, err := w.Routes(w.ctx, access.TenantPageRequest{Tenant: "acme"})
	w.must(err)
	if len(routes.Items) != 1 || routes.Items[0].ID != authorization.MainRoute {
		t.Fatalf("the routes are %+v", routes)
	}
	if got := w.hints.Took(); !slices.Equal(got, []notify.Topic{"node/a", "tenant/acme"}) {
		t.Fatalf("hinted at %v", got)
	}
	if e := w.lastEntry("tenant.created"); e.Actor != alice || e.Subject != "tenant/acme" || e.Detail["home_region"] != "eu" {
		t.Fatalf("the audit entry is %+v", e)
	}
	again, err := w.Tenant(w.ctx, "acme")
	w.must(err)
	if again.HomeRegion != view.HomeRegion || again.Tenant != view.Tenant || *again.Placement != *view.Placement {
		t.Fatalf("read back as %+v", again)
	}
}

// Where no node takes the tenant it waits, and its region is that of the queue.
func TestCreateTenantThatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	view, err := w.CreateTenant(w.ctx, create("acme", "us"))
	w.must(err)
	again, err := w.Tenant(w.ctx, "acme")
	w.must(err)
	for _, v := range []access.TenantView{view, again} {
		if v.Placement != nil || v.HomeRegion != "us" {
			t.Fatalf("the tenant stands at %+v", v)
		}
	}
	if got := w.hints.Took(); !slices.Equal(got, []notify.Topic{"tenant/acme"}) {
		t.Fatalf("hinted at %v", got)
	}
}

// What is refused makes nothing, not even a part of a tenant.
func TestCreateTenantRefused(t *testing.T) {
	t.Parallel()
	w := housed(t)
	before := w.dump()
	_, err := w.CreateTenant(w.ctx, create("other", "nowhere"))
	w.refused(err, fault.NotFound, "region_not_found")
	if f, _ := fault.As(err); f.Field != "home_region" {
		t.Fatalf("the field is %q", f.Field)
	}
	_, err = w.CreateTenant(w.ctx, create("acme", "eu"))
	w.refused(err, fault.AlreadyExists, "tenant_exists")
	_, err = w.CreateTenant(w.ctx, create("No", "-"))
	w.refused(err, fault.Invalid, "invalid_id")
	if f, _ := fault.As(err); len(f.Errors) != 2 {
		t.Fatalf("named are %v", f.Errors)
	}
	w.Placer = brokenPlacer{}
	_, err = w.CreateTenant(w.ctx, create("other", "eu"))
	w.refused(err, fault.Exhausted, "placer_broken")
	w.same(before, "a refused creation")
	_, err = w.Tenant(w.ctx, "other")
	w.refused(err, fault.NotFound, "tenant_not_found")
}

type brokenPlacer struct{}

func (brokenPlacer) Place(context.Context, *store.Roles, string, string, time.Time) (*placement.Placement, error) {
	return nil, fault.New(fault.Exhausted, "placer_broken", "it does not place")
}

// The list names every tenant once, in order, each where it stands.
func TestTenantsInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 7 {
		region := []string{"eu", "us"}[i%2]
		_, err := w.CreateTenant(w.ctx, create(fmt.Sprint("t", i), region))
		w.must(err)
	}
	var seen []string
	page := store.Page{Limit: 3}
	for {
		list, err := w.Tenants(w.ctx, page)
		w.must(err)
		for _, v := range list.Items {
			seen = append(seen, fmt.Sprint(v.Tenant.ID, v.HomeRegion, v.Placement != nil))
		}
		if page.After = list.Next; list.Next == "" {
			break
		}
	}
	want := []string{"t0eutrue", "t1usfalse", "t2eutrue", "t3usfalse", "t4eutrue", "t5usfalse", "t6eutrue"}
	if !slices.Equal(seen, want) {
		t.Fatalf("listed %v", seen)
	}
}

// Suspending and resuming raise the revision, are audited and hinted at; doing it again changes nothing.
func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	w := housed(t)
	steps := []struct {
		action string
		do     func() (access.TenantView, error)
		want   authorization.TenantStatus
	}{
		{"tenant.suspended", func() (access.TenantView, error) {
			return w.Suspend(w.ctx, access.SuspendRequest{Actor: alice, Tenant: "acme"})
		}, authorization.TenantSuspended},
		{"tenant.resumed", func() (access.TenantView, error) {
			return w.Resume(w.ctx, access.ResumeRequest{Actor: alice, Tenant: "acme"})
		}, authorization.TenantActive},
	}
	for i, step := range steps {
		first, err := step.do()
		w.must(err)
		if first.Tenant.Status != step.want || first.Tenant.Revision != int64(i+2) || first.HomeRegion != "eu" {
			t.Fatalf("%s: %+v", step.action, first)
		}
		if got := w.hints.Took(); !slices.Equal(got, []notify.Topic{"node/a", "tenant/acme"}) {
			t.Fatalf("%s hinted at %v", step.action, got)
		}
		w.lastEntry(step.action)
		before := w.dump()
		second, err := step.do()
		w.must(err)
		if second.Tenant != first.Tenant {
			t.Fatalf("%s again: %+v", step.action, second)
		}
		w.same(before, step.action+" again")
	}
	_, err := w.Suspend(w.ctx, access.SuspendRequest{Actor: alice, Tenant: "nobody"})
	w.refused(err, fault.NotFound, "tenant_not_found")
}

// A closed tenant stays closed.
func TestClosedTenantIsFinal(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.closeTenant()
	before := w.dump()
	_, err := w.Resume(w.ctx, access.ResumeRequest{Actor: alice, Tenant: "acme"})
	w.refused(err, fault.Conflict, "tenant_status_conflict")
	_, err = w.Suspend(w.ctx, access.SuspendRequest{Actor: alice, Tenant: "acme"})
	w.refused(err, fault.Conflict, "tenant_status_conflict")
	w.same(before, "a refused change of status")
}

func (w *world) closeTenant() {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		head, err := r.Tenants.Get(ctx, "acme")
		w.must(err)
		changes, err := head.Close(noon)
		w.must(err)
		w.must(r.Tenants.Save(ctx, head))
		return r.Changes.Append(ctx, "acme", changes)
	})
}

// A route raises the revision and gives nobody a handle.
func TestCreateRoute(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.pair(1, authorization.Owner)
	handles := w.tenant().Handles
	w.hints.Took()
	route, err := w.CreateRoute(w.ctx, access.CreateRouteRequest{Actor: alice, Tenant: "acme", ID: "alerts"})
	w.must(err)
	if route.CreatedBy != "operator/alice" || route.ID != "alerts" {
		t.Fatalf("the route is %+v", route)
	}
	if after := w.tenant(); after.Handles != handles || after.Routes != 2 || after.Revision != 3 {
		t.Fatalf("the head is %+v", after)
	}
	w.lastEntry("route.created")
	if got := w.hints.Took(); !slices.Equal(got, []notify.Topic{"node/a", "tenant/acme"}) {
		t.Fatalf("hinted at %v", got)
	}
	before := w.dump()
	for id, slug := range map[string]string{"alerts": "route_exists", "Main": "invalid_id"} {
		_, err := w.CreateRoute(w.ctx, access.CreateRouteRequest{Actor: alice, Tenant: "acme", ID: id})
		if fault.SlugOf(err) != slug {
			t.Fatalf("%s: %v", id, err)
		}
	}
	w.Settings.Limits.Routes = 2
	_, err = w.CreateRoute(w.ctx, access.CreateRouteRequest{Actor: alice, Tenant: "acme", ID: "more"})
	w.refused(err, fault.Exhausted, "routes_exhausted")
	w.same(before, "a refused route")
}

// Lists of a tenant that does not exist are refused, not empty.
func TestListsOfNoTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Routes(w.ctx, access.TenantPageRequest{Tenant: "nobody"})
	w.refused(err, fault.NotFound, "tenant_not_found")
	_, err = w.Principals(w.ctx, access.TenantPageRequest{Tenant: "nobody"})
	w.refused(err, fault.NotFound, "tenant_not_found")
}

// Principals are listed by id, revoked ones included.
func TestPrincipals(t *testing.T) {
	t.Parallel()
	w := housed(t)
	owner := w.pair(1, authorization.Owner)
	member := w.pair(2, authorization.Member)
	_, err := w.revoke(member.Principal, owner.Principal)
	w.must(err)
	first, err := w.Principals(w.ctx, access.TenantPageRequest{Tenant: "acme", Page: store.Page{Limit: 1}})
	w.must(err)
	rest, err := w.Principals(w.ctx, access.TenantPageRequest{Tenant: "acme", Page: store.Page{After: first.Next}})
	w.must(err)
	got := append(first.Items, rest.Items...)
	if len(got) != 2 || got[0].ID != owner.Principal || got[1].Status != authorization.Revoked || rest.Next != "" {
		t.Fatalf("listed %+v", got)
	}
}
