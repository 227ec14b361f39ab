package catalog_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"berth/application/catalog"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// A release is kept with its source by content, its images, and who made it; it can be read again.
func TestReleaseIsKept(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	in := request(deployment(`"r.example/shop:1.0.0"`, `"${replicas}"`, `"shop"`), `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"p":"${password}"}}`)
	in.Parameters = []delivery.Parameter{
		{Name: "replicas", Type: "int", Default: "2", HasDefault: true, CustomerSettable: true}, {Name: "password", Type: "string", Secret: true, Required: true},
	}
	in.Requires, in.SchemaGate = []delivery.Requirement{{App: "db", Versions: "^1.0.0"}}, true
	made, err := w.CreateRelease(w.ctx, in)
	w.must(err)
	r := made.Release
	if !made.New || r.App != "shop" || r.Version != "1.0.0" || !slices.Equal(r.Images, []string{"r.example/shop:1.0.0"}) || !r.SchemaGate || r.CreatedAt != noon ||
		r.Source != delivery.Digest(sourceOf(t, in.Files)) || len(r.Digest) != 64 {
		t.Errorf("%+v", made)
	}
	w.audited("app/shop", "release.created", map[string]string{
		"version": "1.0.0", "digest": r.Digest, "kind": "manifests", "source": r.Source, "schema_gate": "true",
	})
	w.view(func(ctx context.Context, roles *store.Roles) error {
		source, err := roles.Objects.Get(ctx, r.Source)
		if !bytes.Equal(source, sourceOf(t, in.Files)) {
			t.Errorf("kept is %s", source)
		}
		return err
	})
	if got, err := w.Release(w.ctx, "shop", "1.0.0"); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("read is %+v, %v", got, err)
	}
	in.Version = "1.1.0"
	_, err = w.CreateRelease(w.ctx, in)
	w.must(err)
	list, err := w.Releases(w.ctx, "shop", store.Page{Limit: 1})
	w.must(err)
	rest, err := w.Releases(w.ctx, "shop", store.Page{After: list.Next})
	if err != nil || len(list.Items) != 1 || list.Items[0].Version != "1.0.0" || len(rest.Items) != 1 || rest.Items[0].Version != "1.1.0" || rest.Items[0].Digest != r.Digest {
		t.Errorf("%+v, %+v, %v", list, rest, err)
	}
}

// The same release again is answered as the first time, whenever it was asked and in whichever order it is written, and
// changes nothing; the version with another content is refused.
func TestReleaseNeverChanges(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	in := request(sound())
	in.Requires = []delivery.Requirement{{App: "db"}}
	in.Externals = []string{"Secret/b", "Secret/a"}
	first, err := w.CreateRelease(w.ctx, in)
	w.must(err)
	audited, asked := len(w.trail("app/shop")), w.yaml.Asked()
	w.clock.Advance(1e12)
	w.must(w.RemoveRegistry(w.ctx, catalog.RemoveRegistryRequest{Actor: alice, Host: "r.example"}))
	in.Externals = []string{"Secret/a", "Secret/b", "Secret/a"}
	again, err := w.CreateRelease(w.ctx, in)
	w.must(err)
	if again.New || !reflect.DeepEqual(again.Release, first.Release) || len(w.trail("app/shop")) != audited || w.yaml.Asked() != asked {
		t.Errorf("first %+v, then %+v", first, again)
	}
	for name, change := range map[string]func(*catalog.CreateReleaseRequest){
		"files":      func(r *catalog.CreateReleaseRequest) { r.Files = request(sound() + "\n").Files },
		"names":      func(r *catalog.CreateReleaseRequest) { r.Files = map[string]string{"other.yaml": sound()} },
		"gate":       func(r *catalog.CreateReleaseRequest) { r.SchemaGate = true },
		"requires":   func(r *catalog.CreateReleaseRequest) { r.Requires = nil },
		"parameters": func(r *catalog.CreateReleaseRequest) { r.Parameters = []delivery.Parameter{{Name: "a", Type: "int"}} },
	} {
		other := in
		change(&other)
		_, err := w.CreateRelease(w.ctx, other)
		w.refused(err, "release_immutable version")
		if f, _ := fault.As(err); f.Kind != fault.Conflict || f.Cure == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := w.Release(w.ctx, "shop", "1.0.0"); err != nil || !reflect.DeepEqual(got, first.Release) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Of requests at once for one version, with two contents, one content is made once, and everybody is told of it or refused.
func TestReleasesAtOnce(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	var wait sync.WaitGroup
	results := make([]catalog.Created, 20)
	errs := make([]error, 20)
	for i := range results {
		wait.Go(func() {
			in := request(sound())
			in.SchemaGate = i%2 == 0
			results[i], errs[i] = w.CreateRelease(w.ctx, in)
		})
	}
	wait.Wait()
	kept, err := w.Release(w.ctx, "shop", "1.0.0")
	w.must(err)
	made := 0
	for i := range results {
		switch {
		case (i%2 == 0) != kept.SchemaGate:
			w.refused(errs[i], "release_immutable version")
		case errs[i] != nil || results[i].Release.Digest != kept.Digest:
			t.Errorf("%+v, %v", results[i], errs[i])
		case results[i].New:
			made++
		}
	}
	if made != 1 || len(w.trail("app/shop")) != 2 {
		t.Errorf("made %d times, said %d times", made, len(w.trail("app/shop")))
	}
}

// Everything that is wrong is told together, each object by its file, its document and its place; nothing is kept.
func TestEachBadObjectIsNamed(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	privileged := strings.Replace(sound(), `"name":"web",`, `"name":"web","securityContext":{"privileged":true},`, 1)
	privileged = strings.Replace(privileged, `,
		"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}`, "", 1)
	_, err := w.CreateRelease(w.ctx, request(
		privileged+"\n---\n"+`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"type":"NodePort","selector":{"app":"shop"}}}`,
	))
	at := "/spec/template/spec/containers/0/securityContext/"
	w.refused(err, "manifest_insecure a.yaml#1:"+at+"privileged", "manifest_insecure a.yaml#1:"+at+"allowPrivilegeEscalation",
		"manifest_insecure a.yaml#1:"+at+"capabilities/drop", "manifest_kind_refused a.yaml#2", "manifest_field_refused b.yaml#1:/spec/type")
	_, err = w.CreateRelease(w.ctx, request(`[]`, sound(), `{"a":1,"a":2}`))
	w.refused(err, "manifest_invalid a.yaml#1", "manifest_ambiguous c.yaml#1")
	_, err = w.CreateRelease(w.ctx, request(deployment(`"other.example/shop:1"`, "1", `"shop"`)))
	w.refused(err, "registry_unknown a.yaml#1:/spec/template/spec/containers/0/image")
	_, err = w.CreateRelease(w.ctx, request(""))
	w.refused(err, "manifest_empty")
	_, err = w.CreateRelease(w.ctx, request(deployment(`"r.example/shop:1"`, `"${n}"`, `"shop"`)))
	w.refused(err, "parameter_unknown a.yaml#1")
	if _, err := w.Release(w.ctx, "shop", "1.0.0"); fault.KindOf(err) != fault.NotFound || len(w.trail("app/shop")) != 1 {
		t.Errorf("a refused release is there: %v", err)
	}
}

// What is wrong with the request itself is told together, before anything is rendered.
func TestRequestsAreSound(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	_, err := w.CreateRelease(w.ctx, catalog.CreateReleaseRequest{
		Actor: alice, App: "shop", Version: "v1", Kind: delivery.SourceManifests, Files: map[string]string{"../x": ""},
		Parameters: []delivery.Parameter{{Name: "a", Type: "x"}}, Requires: []delivery.Requirement{{App: "nothing", Versions: "?"}}, Externals: []string{"x"},
	})
	w.refused(err, "parameter_declaration_invalid parameters.0.type", "constraint_invalid requires.0.versions", "external_invalid externals.0", "version_invalid version",
		"requirement_unknown requires.0.app", "source_file_invalid ..~1x")
	for want, change := range map[string]func(*catalog.CreateReleaseRequest){
		"app_not_found":                      func(r *catalog.CreateReleaseRequest) { r.App = "nothing" },
		"source_kind_unknown source.kind":    func(r *catalog.CreateReleaseRequest) { r.Kind = "kustomize" },
		"source_kind_unknown source.chart":   func(r *catalog.CreateReleaseRequest) { r.Chart = "oci://r.example/c:1" },
		"source_kind_unknown source.files":   func(r *catalog.CreateReleaseRequest) { r.Kind = delivery.SourceHelm },
		"manifest_empty":                     func(r *catalog.CreateReleaseRequest) { r.Files = nil },
		"requirement_unknown requires.1.app": func(r *catalog.CreateReleaseRequest) { r.Requires = []delivery.Requirement{{App: "db"}, {App: "mq"}} },
		"chart_invalid source.chart": func(r *catalog.CreateReleaseRequest) {
			r.Kind, r.Files, r.Chart = delivery.SourceHelm, nil, "no base64"
		},
		"chart_invalid source.chart ": func(r *catalog.CreateReleaseRequest) { r.Kind, r.Files = delivery.SourceHelm, nil },
		"chart_missing": func(r *catalog.CreateReleaseRequest) {
			r.Kind, r.Files, r.Chart = delivery.SourceHelm, nil, "oci://r.example/c:1"
		},
		"registry_unknown": func(r *catalog.CreateReleaseRequest) {
			r.Kind, r.Files, r.Chart = delivery.SourceHelm, nil, "oci://other.example/c:1"
		},
	} {
		in := request(sound())
		change(&in)
		_, err := w.CreateRelease(w.ctx, in)
		w.refused(err, strings.TrimSpace(want))
	}
	if w.yaml.Asked() != 0 {
		t.Errorf("rendered %d times", w.yaml.Asked())
	}
}

// A chart is taken as it is sent, or from a registered registry; it is kept by its content, and its secrets make a Secret.
func TestCharts(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	packaged := sourceOf(t, map[string]string{"a.yaml": deployment(`"r.example/shop:1"`, `"${replicas.count}"`, `"shop"`) + "\n---\n" +
		strings.Replace(deployment(`"r.example/job:1"`, "1", `"other"`), `"name":"web",`, `"name":"web","envFrom":[{"secretRef":{"name":"${existingSecret}"}}],`, 1)})
	w.hub.PutChart("r.example/charts/shop:1.0.0", packaged)
	in := catalog.CreateReleaseRequest{
		Actor: alice, App: "shop", Version: "1.0.0", Kind: delivery.SourceHelm, Chart: "oci://r.example/charts/shop:1.0.0",
		Parameters: []delivery.Parameter{{Name: "replicas.count", Type: "int", Default: "1", HasDefault: true}, {Name: "password", Type: "string", Secret: true}},
	}
	first, err := w.CreateRelease(w.ctx, in)
	w.must(err)
	if first.Release.Source != delivery.Digest(packaged) || !slices.Equal(first.Release.Images, []string{"r.example/job:1", "r.example/shop:1"}) {
		t.Errorf("%+v", first)
	}
	in.Chart = base64.StdEncoding.EncodeToString(packaged)
	if again, err := w.CreateRelease(w.ctx, in); err != nil || again.New || again.Release.Digest != first.Release.Digest {
		t.Errorf("%+v, %v", again, err)
	}
	w.hub.PutChart("r.example/charts/shop:1.0.0", sourceOf(t, map[string]string{"a.yaml": sound()}))
	in.Chart = "oci://r.example/charts/shop:1.0.0" // which names another chart by now
	_, err = w.CreateRelease(w.ctx, in)
	w.refused(err, "release_immutable version")
	in.Version, in.Chart = "2.0.0", base64.StdEncoding.EncodeToString(make([]byte, delivery.MaxSource+1))
	_, err = w.CreateRelease(w.ctx, in)
	w.refused(err, "chart_too_large source.chart")
}

// A customer's values reach no image, no kind and no name (E4); each parameter by which they would is named.
func TestCustomersReachNoIdentity(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	settable := func(name string, kind delivery.ParameterType, value string) delivery.Parameter {
		return delivery.Parameter{Name: name, Type: kind, Default: value, HasDefault: true, CustomerSettable: true}
	}
	in := request(deployment(`"${image}"`, `"${replicas}"`, `"${name}"`))
	in.Parameters = []delivery.Parameter{
		settable("image", "string", "r.example/shop:1"), settable("replicas", "int", "1"), settable("name", "enum", "shop"),
	}
	in.Parameters[2].Values = []string{"shop", "store"}
	_, err := w.CreateRelease(w.ctx, in)
	w.refused(err, "parameter_reaches_identity parameters", "parameter_reaches_identity parameters")
	if f, _ := fault.As(err); !strings.Contains(f.Errors[0].Detail, `"image"`) || !strings.Contains(f.Errors[1].Detail, `"name"`) {
		t.Error(f.Errors)
	}
	in.Parameters[0].CustomerSettable, in.Parameters[2].CustomerSettable = false, false
	_, err = w.CreateRelease(w.ctx, in)
	w.must(err)
}

// A release is tried with its defaults, and with a sample of what has to be given; what may stay without a value stays so.
func TestReleaseIsTriedWithSamples(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	in := request(deployment(`"r.example/shop:1"`, `"${replicas}"`, `"shop"`)+"\n---\n"+`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"host":"${host}","color":"${color}"}}`,
		`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i"},"spec":{"rules":[{"host":"${host}"}]}}`)
	in.Parameters = []delivery.Parameter{
		{Name: "replicas", Type: "int", Required: true}, {Name: "host", Type: "string", Required: true, Pattern: `[a-z.]+`}, {Name: "color", Type: "string"},
	}
	_, err := w.CreateRelease(w.ctx, in)
	w.must(err)
	in.Version, in.Parameters[1].Required = "1.0.1", false // without a host, the Ingress would be for every host
	_, err = w.CreateRelease(w.ctx, in)
	w.refused(err, "ingress_host_refused b.yaml#1:/spec/rules/0")
}

// What fails besides the request itself leaves nothing behind, and the same request works afterwards.
func TestFailuresLeaveNothing(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.yaml.Fail(fault.New(fault.Unavailable, "render_unavailable", "away"))
	_, err := w.CreateRelease(w.ctx, request(sound()))
	w.refused(err, "render_unavailable")
	w.yaml.Fail(nil)
	in := request(sound())
	in.Version, in.Chart, in.Files, in.Kind = "2.0.0", "oci://r.example/c:1", nil, delivery.SourceHelm
	w.hub.Break("r.example", context.DeadlineExceeded)
	_, err = w.CreateRelease(w.ctx, in)
	w.refused(err, "chart_unavailable")
	if list, err := w.Releases(w.ctx, "shop", store.Page{}); err != nil || len(list.Items) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	made, err := w.CreateRelease(w.ctx, request(sound()))
	if err != nil || !made.New {
		t.Errorf("%+v, %v", made, err)
	}
}
