package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"berth/application/catalog"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/clock/clocktest"
	"berth/ports/registry/registrytest"
	"berth/ports/render"
	"berth/ports/render/rendertest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	alice = audit.Actor{Kind: audit.ActorOperator, ID: "alice", Source: "192.0.2.1"}
)

// world is a catalogue over a store, a renderer and registries in memory.
type world struct {
	*catalog.Catalog
	t     *testing.T
	ctx   context.Context
	mem   *storetest.Memory
	clock *clocktest.Fake
	yaml  *rendertest.Memory
	hub   *registrytest.Memory
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, ctx: context.Background(), mem: storetest.NewMemory(), clock: clocktest.New(noon), yaml: &rendertest.Memory{}, hub: registrytest.NewMemory(),
	}
	w.Catalog = &catalog.Catalog{
		Store: w.mem, Clock: w.clock, Charts: w.hub,
		Renderers: render.Renderers{delivery.SourceManifests: w.yaml, delivery.SourceHelm: chartRenderer{w.yaml}},
	}
	return w
}

// chartRenderer takes the same sources for charts.
type chartRenderer struct{ render.Renderer }

// stocked has the apps shop and db, and the registry r.example.
func stocked(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	for _, id := range []string{"shop", "db"} {
		_, err := w.CreateApp(w.ctx, catalog.CreateAppRequest{Actor: alice, ID: id, Name: "App " + id})
		w.must(err)
	}
	w.register(delivery.Registry{Host: "r.example"})
	return w
}

func (w *world) register(r delivery.Registry) {
	w.t.Helper()
	_, err := w.AddRegistry(w.ctx, catalog.AddRegistryRequest{Actor: alice, Registry: r})
	w.must(err)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// refused checks that err is made of exactly these, as "slug field".
func (w *world) refused(err error, want ...string) {
	w.t.Helper()
	f, ok := fault.As(err)
	if !ok {
		w.t.Fatalf("answered with %v, not with %q", err, want)
	}
	parts := f.Errors
	if len(parts) == 0 {
		parts = []*fault.Error{f}
	}
	var got []string
	for _, e := range parts {
		got = append(got, strings.TrimSpace(e.Slug+" "+e.Field))
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("answered with %q, not with %q", got, want)
	}
}

func (w *world) view(do func(ctx context.Context, r *store.Roles) error) {
	w.t.Helper()
	w.must(w.mem.View(w.ctx, do))
}

// trail is what the audit log says of a subject, oldest first.
func (w *world) trail(subject string) []audit.Entry {
	w.t.Helper()
	var out []audit.Entry
	w.view(func(ctx context.Context, r *store.Roles) (err error) {
		out, err = r.Audit.About(ctx, subject, 0, 100)
		return err
	})
	return out
}

func (w *world) audited(subject, action string, detail map[string]string) {
	w.t.Helper()
	trail := w.trail(subject)
	if len(trail) == 0 {
		w.t.Fatalf("nothing is said of %s", subject)
	}
	last := trail[len(trail)-1]
	if last.Action != action || last.Actor != alice || !last.At.Equal(noon) || !reflect.DeepEqual(last.Detail, detail) {
		w.t.Fatalf("of %s is said %+v", subject, last)
	}
}

// deployment is a sound Deployment as JSON, with what is put in place of its parts.
func deployment(image, replicas, name string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%s},"spec":{"replicas":%s,"selector":{"matchLabels":{"app":"shop"}},
		"template":{"metadata":{"labels":{"app":"shop"}},"spec":{"automountServiceAccountToken":false,
		"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},
		"containers":[{"name":"web","image":%s,"resources":{"requests":{"cpu":"100m","memory":"64Mi"}},
		"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}}}`, name, replicas, image)
}

func sound() string { return deployment(`"r.example/shop:1.0.0"`, "1", `"shop"`) }

func request(files ...string) catalog.CreateReleaseRequest {
	in := catalog.CreateReleaseRequest{Actor: alice, App: "shop", Version: "1.0.0", Kind: delivery.SourceManifests, Files: map[string]string{}}
	for i, text := range files {
		in.Files[fmt.Sprintf("%c.yaml", 'a'+i)] = text
	}
	return in
}

func sourceOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	text, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	source, errs := delivery.EncodeFiles(files)
	if len(errs) > 0 {
		t.Fatal(errs, text)
	}
	return source
}
