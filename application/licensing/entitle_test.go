package licensing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"berth/application/licensing"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

func names(es []entitlement.Entitlement) string {
	var out []string
	for _, e := range es {
		out = append(out, e.App)
	}
	return strings.Join(out, " ")
}

// The list that was put is the list that there is; what was taken off is told apart, and comes back as it was.
func TestEntitle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.license().License.ID
	until := noon.Add(500 * hour)
	put, err := w.Entitle(w.ctx, licensing.EntitleRequest{LicenseRequest: on(id), Apps: []entitlement.Entitled{
		{App: "till"}, {App: "shop", ExpiresAt: &until, Versions: "^1.2.0"},
	}})
	w.must(err)
	before := w.dump()
	w.clock.Advance(hour)
	less, err := w.entitle(id, "till", "db")
	w.must(err)
	w.wantEntries(before.Audit.Sequence, "alice license.apps_changed license/"+id+
		" app.00=db: none -> entitled app.01=shop: entitled to ^1.2.0 until 2026-03-22T08:00:00Z -> withdrawn revision=3")
	if names(put.Apps) != "shop till" || names(less.Apps) != "db till" || names(less.Withdrawn) != "shop" ||
		put.Revision != 2 || less.Revision != 3 || !less.Withdrawn[0].WithdrawnAt.Equal(noon.Add(hour)) {
		t.Fatalf("put %+v, then %+v", put, less)
	}
	read, err := w.Apps(w.ctx, id)
	w.must(err)
	if fmt.Sprint(read) != fmt.Sprint(less) {
		t.Fatalf("read %+v, put %+v", read, less)
	}
}

// Every app that there is not is named, and nothing is put; an app that is on the license already has to exist, too.
func TestEntitleUnknownApps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.license().License.ID
	before := w.dump()
	_, err := w.entitle(id, "shop", "none", "db", "nor-this")
	f, _ := fault.As(err)
	if f == nil || len(f.Errors) != 2 || f.Errors[0].Field != "apps[1].app" || f.Errors[1].Field != "apps[3].app" {
		t.Fatalf("refused with %v", err)
	}
	w.refused(err, fault.NotFound, "app_not_found")
	w.same(before, "unknown apps")
}

// A selected service stays on the license at every edit (E2), and whoever selected it is named; an app that runs without
// being selected may go.
func TestSelectedServicesRemain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, other := w.license().License.ID, w.license().License.ID
	for _, license := range []string{id, other} {
		_, err := w.entitle(license, "shop", "till", "db")
		w.must(err)
	}
	w.deployment("ins_1", id, "shop", "till")
	w.deployment("ins_2", id, "shop")
	w.deployment("ins_3", other, "db")
	before := w.dump()
	_, err := w.entitle(id)
	w.refused(err, fault.Conflict, "selected_service_remains")
	f, _ := fault.As(err)
	if len(f.Errors) != 2 || !strings.Contains(f.Errors[0].Detail, "shop is a selected service of ins_1, ins_2") ||
		!strings.HasSuffix(f.Errors[1].Detail, "till is a selected service of ins_1") || f.Errors[0].Cure == "" {
		t.Fatalf("refused with %v", f.Errors)
	}
	w.same(before, "a selected service")
	left, err := w.entitle(id, "shop", "till")
	w.must(err)
	if names(left.Withdrawn) != "db" {
		t.Fatalf("left %+v", left)
	}
}

// However many installations selected it, the refusal stays readable, and all of them are looked at.
func TestManyInstallationsRemain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.license().License.ID
	_, err := w.entitle(id, "shop", "db")
	w.must(err)
	const many = store.MaxPage + 5
	w.do(func(ctx context.Context, r *store.Roles) error {
		for i := range many {
			d := delivery.DeploymentRecord{InstallID: fmt.Sprintf("ins_%05d", i), Customer: "acme", License: id, Namespace: "acme",
				CreatedAt: noon, ChangedAt: noon}
			if i >= many-12 {
				d.Selected = []delivery.Choice{{App: "shop"}}
			}
			w.must(r.Deployments.Create(ctx, delivery.RestoreDeployment(d)))
			w.must(r.DesiredStates.Create(ctx, delivery.NewDesired(d.InstallID, id, noon)))
		}
		return nil
	})
	_, err = w.entitle(id, "db")
	w.refused(err, fault.Conflict, "selected_service_remains")
	if f, _ := fault.As(err); !strings.HasSuffix(f.Detail, "ins_01002 and 2 more") {
		t.Fatalf("refused with %v", err)
	}
}

// A long change is audited whole, in several entries within the bounds of one.
func TestLongChangesAreAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.license().License.ID
	var apps []string
	w.do(func(ctx context.Context, r *store.Roles) error {
		for i := range 45 {
			app := strings.Repeat("a", 50) + fmt.Sprintf("-%02d", i)
			apps = append(apps, app)
			w.must(r.Apps.Create(ctx, delivery.App{ID: app, Name: app, CreatedAt: noon}))
		}
		return nil
	})
	in := licensing.EntitleRequest{LicenseRequest: on(id)}
	until := noon.Add(500 * hour)
	for _, app := range apps {
		in.Apps = append(in.Apps, entitlement.Entitled{App: app, ExpiresAt: &until, Versions: ">=1.0.0" + strings.Repeat(" ", 180) + "<2.0.0"})
	}
	before := w.dump()
	_, err := w.Entitle(w.ctx, in)
	w.must(err)
	for i := range in.Apps {
		in.Apps[i].Versions = ">=1.1.0" + strings.Repeat(" ", 180) + "<2.0.0"
	}
	_, err = w.Entitle(w.ctx, in)
	w.must(err)
	entries := w.entries(before.Audit.Sequence)
	if len(entries) != 6 {
		t.Fatalf("%d entries", len(entries))
	}
	for _, app := range apps {
		if strings.Count(strings.Join(entries, "\n"), app+": ") != 2 {
			t.Errorf("%s is not told", app)
		}
	}
}

// Between taking an app off and selecting it, whichever comes first decides: never is an app selected that is not on the
// license (E2).
func TestSelectingAndTakingOffAtOnce(t *testing.T) {
	t.Parallel()
	for range 30 {
		w := newWorld(t)
		id := w.license().License.ID
		_, err := w.entitle(id, "shop", "db")
		w.must(err)
		w.deployment("ins_1", id)
		var off, selected error
		var both sync.WaitGroup
		both.Go(func() { _, off = w.entitle(id, "db") })
		both.Go(func() {
			selected = w.mem.Atomically(w.ctx, func(ctx context.Context, r *store.Roles) error {
				entitled, err := r.Entitlements.OfLicense(ctx, id)
				if err != nil {
					return err
				}
				return store.UpdateIn[*delivery.Deployment](ctx, r.Deployments, "ins_1", func(d *delivery.Deployment) error {
					return d.Select([]delivery.Choice{{App: "shop"}}, entitled, noon)
				})
			})
		})
		both.Wait()
		if (off == nil) == (selected == nil) {
			t.Fatalf("taken off: %v, selected: %v", off, selected)
		}
	}
}

// What a license entitles to is whatever list was put last, however lists follow one another.
func TestListsFollowOneAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.license().License.ID
	all := []string{"db", "shop", "till"}
	for mask := range 2 * 8 {
		var want []string
		for i, app := range all {
			if mask*5>>i&1 == 1 {
				want = append(want, app)
			}
		}
		got, err := w.entitle(id, want...)
		w.must(err)
		var off []string
		for _, e := range got.Withdrawn {
			off = append(off, e.App)
		}
		if names(got.Apps) != strings.Join(want, " ") || slices.ContainsFunc(off, func(app string) bool { return slices.Contains(want, app) }) {
			t.Fatalf("put %q, there is %+v", want, got)
		}
	}
}
