package catalog_test

import (
	"fmt"
	"reflect"
	"testing"

	"berth/application/catalog"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// Apps are added once, listed by id, and said who added them.
func TestApps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"b", "c", "a"} {
		app, err := w.CreateApp(w.ctx, catalog.CreateAppRequest{Actor: alice, ID: id, Name: "App " + id})
		w.must(err)
		if app != (delivery.App{ID: id, Name: "App " + id, CreatedAt: noon}) {
			t.Errorf("%+v", app)
		}
		w.audited("app/"+id, "app.created", map[string]string{"name": "App " + id})
	}
	_, err := w.CreateApp(w.ctx, catalog.CreateAppRequest{Actor: alice, ID: "a", Name: "Another"})
	w.refused(err, "app_exists")
	_, err = w.CreateApp(w.ctx, catalog.CreateAppRequest{Actor: alice, ID: "A"})
	w.refused(err, "invalid_id id", "text_out_of_bounds name")
	if len(w.trail("app/a")) != 1 {
		t.Error("a refusal is audited as a change")
	}
	list, err := w.Apps(w.ctx, store.Page{Limit: 2})
	w.must(err)
	rest, err := w.Apps(w.ctx, store.Page{After: list.Next, Limit: 2})
	w.must(err)
	if len(list.Items) != 2 || list.Items[0].ID != "a" || len(rest.Items) != 1 || rest.Items[0].ID != "c" || rest.Next != "" {
		t.Errorf("%+v, then %+v", list, rest)
	}
	if app, err := w.App(w.ctx, "a"); err != nil || app.Name != "App a" {
		t.Errorf("%+v, %v", app, err)
	}
	_, err = w.App(w.ctx, "z")
	w.refused(err, "app_not_found")
	_, err = w.Releases(w.ctx, "z", store.Page{})
	w.refused(err, "app_not_found")
	_, err = w.Release(w.ctx, "a", "1.0.0")
	w.refused(err, "release_not_found")
}

// Registries are added and removed by operators; two never answer for the same host.
func TestRegistries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register(delivery.Registry{Host: "b.example:5000", CredentialsRef: "file:/etc/b.json", MirrorOf: "docker.io", PlainHTTP: true})
	w.audited("registry/b.example:5000", "registry.added", map[string]string{
		"plain_http": "true", "credentials_ref": "file:/etc/b.json", "mirror_of": "docker.io",
	})
	w.register(delivery.Registry{Host: "[2001:db8::1]:5000"})
	w.audited("registry/2001:db8::1:5000", "registry.added", map[string]string{"plain_http": "false"})
	w.register(delivery.Registry{Host: "a.example"})
	for want, r := range map[string]delivery.Registry{
		"registry_exists": {Host: "a.example"}, "registry_mirror_taken": {Host: "c.example", MirrorOf: "docker.io"}, "registry_host_invalid host": {Host: "https://a.example"},
	} {
		_, err := w.AddRegistry(w.ctx, catalog.AddRegistryRequest{Actor: alice, Registry: r})
		w.refused(err, want)
	}
	list, err := w.Registries(w.ctx, store.Page{})
	w.must(err)
	var hosts []string
	for _, r := range list.Items {
		hosts = append(hosts, r.Host)
	}
	if want := []string{"[2001:db8::1]:5000", "a.example", "b.example:5000"}; !reflect.DeepEqual(hosts, want) {
		t.Errorf("%q", hosts)
	}
	w.must(w.RemoveRegistry(w.ctx, catalog.RemoveRegistryRequest{Actor: alice, Host: "b.example:5000"}))
	w.audited("registry/b.example:5000", "registry.removed", map[string]string{
		"plain_http": "true", "credentials_ref": "file:/etc/b.json", "mirror_of": "docker.io",
	})
	w.refused(w.RemoveRegistry(w.ctx, catalog.RemoveRegistryRequest{Actor: alice, Host: "b.example:5000"}), "registry_not_found")
	w.register(delivery.Registry{Host: "c.example", MirrorOf: "docker.io"})
}

// There are only so many registries.
func TestRegistriesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range catalog.MaxRegistries {
		w.register(delivery.Registry{Host: fmt.Sprintf("r%d.example", i)})
	}
	_, err := w.AddRegistry(w.ctx, catalog.AddRegistryRequest{Actor: alice, Registry: delivery.Registry{Host: "more.example"}})
	w.refused(err, "registries_too_many")
	if fault.KindOf(err) != fault.Exhausted {
		t.Error(err)
	}
}
