package desired_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// stocked is a world with releases: shop needs db.
func stocked(t tb) *world {
	w := newWorld(t)
	w.release("db", "1.0.0")
	w.release("db", "2.0.0")
	w.release("shop", "1.0.0", delivery.Requirement{App: "db", Versions: ">=1.0.0"})
	w.release("shop", "1.1.0", delivery.Requirement{App: "db", Versions: ">=2.0.0"})
	w.release("blog", "1.0.0")
	return w
}

func (w *world) selectServices(choices ...delivery.Choice) (desired.DeploymentView, error) {
	return w.SelectServices(w.ctx, desired.SelectServicesRequest{Actor: alice, Install: install, Selected: choices})
}

func (w *world) selected(choices ...delivery.Choice) desired.DeploymentView {
	w.t.Helper()
	v, err := w.selectServices(choices...)
	w.must(err)
	return v
}

func running(head delivery.DesiredRecord) string {
	var out []string
	for _, a := range head.Apps {
		if !a.Removed {
			out = append(out, a.App+" "+a.Version)
		}
	}
	return strings.Join(out, ", ")
}

// audits are the lines of the log about a deployment.
func (w *world) audits(install string) string {
	w.t.Helper()
	var out []string
	w.view(func(ctx context.Context, r *store.Roles) error {
		log, err := r.Audit.About(ctx, "deployment/"+install, 0, 1000)
		for _, e := range log {
			out = append(out, fmt.Sprint(e.Action, " by ", e.Actor.ID, " ", e.Detail))
		}
		return err
	})
	return strings.Join(out, "\n")
}

func (w *world) lastAudit(install string) string {
	w.t.Helper()
	lines := strings.Split(w.audits(install), "\n")
	return lines[len(lines)-1]
}

// A deployment begins with its selected services, each in the highest version that goes with the others, rendered with
// its images pinned.
func TestADeploymentBeginsWithItsSelectedServices(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	v, err := w.CreateDeployment(w.ctx, desired.CreateDeploymentRequest{
		Actor: alice, Customer: "acme", License: license, Namespace: "acme", IngressHosts: []string{"acme.example.com"},
		Selected: []delivery.Choice{choice("shop", "", "replicas", "2", "password", "s3cret"), choice("db", "")},
	})
	w.must(err)
	if got := running(v.Head); got != "db 2.0.0, shop 1.1.0" || v.Head.Revision != 1 {
		t.Fatalf("%s at %d", got, v.Head.Revision)
	}
	shop := v.Head.Apps[1]
	if len(shop.Images) != 1 || !strings.HasPrefix(shop.Images[0], host+"/shop@sha256:") || shop.Usage.Replicas != 2 ||
		shop.Usage.MilliCPU != 200 || len(shop.Requires) != 1 || shop.Requires[0] != "db" {
		t.Fatalf("%+v", shop)
	}
	if len(shop.Seals) != 1 || shop.Seals[0] != (delivery.Seal{Parameter: "password", Secret: "shop", Key: "password"}) {
		t.Fatalf("%+v", shop.Seals)
	}
	if fmt.Sprint(v.Deployment, v.Head) == "" || strings.Contains(fmt.Sprint(v.Deployment, v.Head), "s3cret") {
		t.Fatal("the secret is kept in the clear")
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		content, err := r.Objects.Read(ctx, v.Deployment.InstallID, shop.Manifests.SHA256)
		w.must(err)
		if !strings.Contains(string(content), shop.Images[0]) || strings.Contains(string(content), "s3cret") {
			t.Fatalf("%s", content)
		}
		values, err := r.SecretValues.OfInstall(ctx, v.Deployment.InstallID)
		w.must(err)
		if len(values) != 1 || values[0].Custody != delivery.CustodyControl || strings.Contains(string(values[0].Text), "s3cret") {
			t.Fatalf("%+v", values)
		}
		return nil
	})
	if got := w.lastAudit(v.Deployment.InstallID); !strings.HasPrefix(got, "deployment.created by alice") || strings.Contains(got, "s3cret") {
		t.Fatal(got)
	}
}

// Everything that is wrong with a deployment's services is told at once, and nothing is kept of it.
func TestAllThatIsWrongIsToldTogether(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.releaseOf("blog", "2.0.0", host+"/blog:missing")
	w.images.Break(host, nil)
	_, err := w.CreateDeployment(w.ctx, desired.CreateDeploymentRequest{
		Actor: alice, Customer: "acme", License: license, Namespace: "acme",
		Selected: []delivery.Choice{choice("db", "2.0.0", "replicas", "many"), choice("blog", "2.0.0", "colour", "red")},
	})
	f, _ := fault.As(err)
	slugs := map[string]bool{}
	for _, e := range f.Errors {
		slugs[e.Slug+" "+e.Field] = true
	}
	for _, want := range []string{"parameter_invalid db.replicas", "parameter_unknown blog.colour", "image_missing blog.image registry.example/blog:missing"} {
		if !slugs[want] {
			t.Errorf("%q is not among %v", want, slugs)
		}
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		list, err := r.Deployments.List(ctx, license, store.Page{Limit: 10})
		if len(list) != 1 {
			t.Errorf("%d deployments", len(list))
		}
		return err
	})
}

func TestWhatDeploymentsAreRefusedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*world)
		bend   func(*desired.CreateDeploymentRequest)
		slug   string
	}{
		"no customer":  {bend: func(r *desired.CreateDeploymentRequest) { r.Customer = "nobody" }, slug: "customer_not_found"},
		"no license":   {bend: func(r *desired.CreateDeploymentRequest) { r.License = "lic_0" }, slug: "license_not_found"},
		"namespace":    {bend: func(r *desired.CreateDeploymentRequest) { r.Namespace = "kube-system" }, slug: "namespace_reserved"},
		"host":         {bend: func(r *desired.CreateDeploymentRequest) { r.IngressHosts = []string{"Shop"} }, slug: "ingress_host_invalid"},
		"not entitled": {bend: func(r *desired.CreateDeploymentRequest) { r.Selected = []delivery.Choice{choice("wiki", "")} }, slug: "not_entitled"},
		"twice": {bend: func(r *desired.CreateDeploymentRequest) {
			r.Selected = []delivery.Choice{choice("db", ""), choice("db", "")}
		}, slug: "selected_service_duplicate"},
		"no version": {bend: func(r *desired.CreateDeploymentRequest) { r.Selected = []delivery.Choice{choice("db", "9.0.0")} }, slug: "version_unknown"},
		"dependency": {bend: func(r *desired.CreateDeploymentRequest) { r.Selected = []delivery.Choice{choice("shop", "")} }, slug: "dependency_missing"},
		"conflict": {bend: func(r *desired.CreateDeploymentRequest) {
			r.Selected = []delivery.Choice{choice("shop", "1.1.0"), choice("db", "1.0.0")}
		}, slug: "dependency_conflict"},
		"quota": {bend: func(r *desired.CreateDeploymentRequest) {
			r.Selected = []delivery.Choice{choice("db", "", "replicas", "21")}
		}, slug: "quota_exceeded"},
		"registry away": {change: func(w *world) { w.images.Break(host, errors.New("away")) }, slug: "image_check_unavailable"},
		"image gone":    {change: func(w *world) { w.images.Remove(host + "/db:2.0.0") }, slug: "image_missing"},
		"expired":       {change: func(w *world) { w.clock.Advance(31 * day) }, slug: "license_expired"},
		"suspended": {change: func(w *world) {
			w.license(func(l *entitlement.License) error { return l.Suspend(noon) })
		}, slug: "license_inactive"},
	} {
		w := stocked(t)
		in := desired.CreateDeploymentRequest{
			Actor: alice, Customer: "acme", License: license, Namespace: "acme", Selected: []delivery.Choice{choice("db", "")},
		}
		if c.bend != nil {
			c.bend(&in)
		}
		if c.change != nil {
			c.change(w)
		}
		if _, err := w.CreateDeployment(w.ctx, in); fault.SlugOf(err) != c.slug {
			t.Errorf("%s: %v, want %s", name, err, c.slug)
		}
	}
}

// Selecting puts what is new, removes what is no longer selected, and leaves alone what was selected already.
func TestSelectingServices(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	v := w.selected(choice("db", "1.0.0"))
	if got := running(v.Head); got != "db 1.0.0" {
		t.Fatal(got)
	}
	again := w.selected(choice("db", "1.0.0"))
	if again.Head.Revision != v.Head.Revision {
		t.Fatal("the same selection made a revision")
	}
	v = w.selected(choice("db", "1.0.0"), choice("blog", ""), choice("shop", ""))
	if got := running(v.Head); got != "blog 1.0.0, db 1.0.0, shop 1.0.0" {
		t.Fatal(got)
	}
	_, err := w.selectServices(choice("blog", ""), choice("shop", ""))
	w.refused(err, fault.Conflict, "dependents_remain")
	v = w.selected(choice("db", "1.0.0", "replicas", "3"), choice("shop", ""))
	if got := running(v.Head); got != "db 1.0.0, shop 1.0.0" || v.Head.Usage.Replicas != 4 {
		t.Fatalf("%s with %+v", got, v.Head.Usage)
	}
	if got := w.lastAudit(install); !strings.Contains(got, "before:blog db@1.0.0 shop") || !strings.Contains(got, "after:db@1.0.0 shop") {
		t.Fatal(got)
	}
	v = w.selected(choice("db", "2.0.0"), choice("shop", "1.1.0"))
	if got := running(v.Head); got != "db 2.0.0, shop 1.1.0" {
		t.Fatal(got)
	}
	if v = w.selected(); running(v.Head) != "" {
		t.Fatal(running(v.Head))
	}
}

// A parameter of an operator's choosing stays with the app; one that is not given has its default again.
func TestSettingParameters(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", "1.0.0"))
	set := func(parameters map[string]string) (desired.DeploymentView, error) {
		return w.SetParameters(w.ctx, desired.SetParametersRequest{Actor: alice, Install: install, App: "db", Parameters: parameters})
	}
	v, err := set(map[string]string{"replicas": "3"})
	w.must(err)
	if v.Head.Usage.Replicas != 3 || v.Deployment.Selected[0].Parameters["replicas"] != "3" {
		t.Fatalf("%+v %+v", v.Head.Usage, v.Deployment.Selected)
	}
	v, err = set(nil)
	w.must(err)
	if v.Head.Usage.Replicas != 1 {
		t.Fatalf("%+v", v.Head.Usage)
	}
	_, err = set(map[string]string{"replicas": "50"})
	w.refused(err, fault.Conflict, "quota_exceeded")
	_, err = set(map[string]string{"colour": "red"})
	w.refused(err, fault.Invalid, "parameter_unknown")
	_, err = w.SetParameters(w.ctx, desired.SetParametersRequest{Actor: alice, Install: install, App: "shop"})
	w.refused(err, fault.NotFound, "app_not_deployed")
}

// What runs can be set anew in its version also where the license has come to be about other versions, or about the app no
// more: a password has to be changed all the same.
func TestSettingParametersOfWhatTheLicenseIsAboutNoMore(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.release("db", "3.0.0-rc.1")
	for _, e := range []entitlement.Entitlement{
		{Versions: ">=4"}, {Versions: "^1", WithdrawnAt: noon},
	} {
		put := func(versions string, withdrawn bool) {
			row := entitlement.Entitlement{License: license, App: "db", GrantedAt: noon, Versions: versions}
			if withdrawn {
				row.WithdrawnAt = e.WithdrawnAt
			}
			w.do(func(ctx context.Context, r *store.Roles) error {
				return r.Entitlements.Put(ctx, []entitlement.Entitlement{row})
			})
		}
		put(">=3.0.0-0", false)
		w.selected(choice("db", "3.0.0-rc.1"))
		put(e.Versions, true)
		v, err := w.SetParameters(w.ctx, desired.SetParametersRequest{
			Actor: alice, Install: install, App: "db", Parameters: map[string]string{"password": "n3w", "replicas": "2"},
		})
		w.must(err)
		if running(v.Head) != "db 3.0.0-rc.1" || v.Head.Usage.Replicas != 2 {
			t.Fatalf("%+v", v.Head)
		}
	}
}

func TestTheSchemaGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.SchemaGate(w.ctx, desired.SchemaGateRequest{Actor: alice, Install: install, Open: true})
	w.refused(err, fault.Invalid, "note_required")
	d, err := w.SchemaGate(w.ctx, desired.SchemaGateRequest{Actor: alice, Install: install, Open: true, Note: "migrated"})
	w.must(err)
	if !d.GateOpen || d.GateNote != "migrated" {
		t.Fatalf("%+v", d)
	}
	if got := w.lastAudit(install); got != "deployment.schema_gate by alice map[after:open before:closed note:migrated]" {
		t.Fatal(got)
	}
	_, err = w.SchemaGate(w.ctx, desired.SchemaGateRequest{Actor: alice, Install: "ins_0", Open: true, Note: "x"})
	w.refused(err, fault.NotFound, "deployment_not_found")
}

func TestHistory(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", "1.0.0"))
	w.selected(choice("db", "2.0.0"))
	w.selected(choice("db", "1.0.0"))
	list, next, err := w.History(w.ctx, install, 0, 2)
	w.must(err)
	if len(list) != 2 || list[0].Revision != 3 || list[0].Diff[0].What != delivery.DiffDowngraded || next != 2 {
		t.Fatalf("%+v, next %d", list, next)
	}
	list, next, err = w.History(w.ctx, install, next, 2)
	w.must(err)
	if len(list) != 1 || list[0].Revision != 1 || next != 0 {
		t.Fatalf("%+v, next %d", list, next)
	}
	at, head, err := w.DesiredState(w.ctx, install, 2)
	w.must(err)
	if at.Apps[0].Version != "2.0.0" || head.Revision != 3 {
		t.Fatalf("%+v", at)
	}
	rendered, err := w.Rendered(w.ctx, install, at.Apps[:1])
	docs := rendered[at.Apps[0].App]
	w.must(err)
	if len(docs) != 2 {
		t.Fatalf("%d objects", len(docs))
	}
	_, _, err = w.DesiredState(w.ctx, install, 9)
	w.refused(err, fault.NotFound, "revision_not_found")
}
