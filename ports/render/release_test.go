package render_test

import (
	"reflect"
	"testing"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/render"
	"berth/ports/render/rendertest"
)

// A release is rendered by its kind, with its values in their types; a chart's secrets are a Secret beside it.
func TestReleasesAreRendered(t *testing.T) {
	t.Parallel()
	release := delivery.Release{App: "shop", Kind: delivery.SourceManifests, Parameters: []delivery.Parameter{
		{Name: "n", Type: "int"}, {Name: "password", Type: "string", Secret: true}, {Name: "unset", Type: "string"},
	}}
	source := func(text string) []byte {
		out, errs := delivery.EncodeFiles(map[string]string{"a.yaml": text})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return out
	}
	renderers := render.Renderers{delivery.SourceManifests: &rendertest.Memory{}, delivery.SourceHelm: &rendertest.Memory{}}
	docs, err := renderers.Release(t.Context(), render.Request{
		Release: release, Source: source(`{"n":"${n}","p":"${password}","u":"${unset}"}`), Values: map[string]string{"n": "7", "other": "x"},
	})
	want := []render.Document{{Origin: "a.yaml#1", Object: map[string]any{"n": int64(7), "p": ""}, Secrets: map[string]string{"/p": "password"}}}
	if err != nil || !reflect.DeepEqual(docs, want) {
		t.Errorf("%+v, %v", docs, err)
	}

	release.Kind = delivery.SourceHelm
	docs, err = renderers.Release(t.Context(), render.Request{
		Release: release, Source: source(`{"n":"${n}","s":"${existingSecret}"}`), Values: map[string]string{"n": "7"},
	})
	if err != nil || len(docs) != 2 || !reflect.DeepEqual(docs[0].Object, map[string]any{"n": int64(7), "s": "shop-parameters"}) ||
		!reflect.DeepEqual(delivery.Seals(docs), []delivery.Seal{{Parameter: "password", Secret: "shop-parameters", Key: "password"}}) {
		t.Errorf("%+v, %v", docs, err)
	}
	for _, text := range []string{`{"p":"${password}"}`, `{"u":"${unset}"}`} { // a chart has no such values
		if _, err := renderers.Release(t.Context(), render.Request{Release: release, Source: source(text)}); fault.SlugOf(err) != "parameter_unknown" {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := (render.Renderers{}).Release(t.Context(), render.Request{Release: release}); fault.SlugOf(err) != "source_kind_unknown" {
		t.Error(err)
	}
}
