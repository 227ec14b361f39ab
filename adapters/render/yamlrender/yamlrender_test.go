package yamlrender_test

import (
	"bytes"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"berth/adapters/render/yamlrender"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/quantity"
	"berth/ports/render"
	"berth/ports/render/rendertest"
)

func source(tb interface{ Fatal(...any) }, files map[string]string) []byte {
	out, errs := delivery.EncodeFiles(files)
	if len(errs) > 0 {
		tb.Fatal(errs)
	}
	return out
}

func TestConformance(t *testing.T) {
	t.Parallel()
	rendertest.Run(t, func(testing.TB) rendertest.Subject {
		return rendertest.Subject{
			Renderer: yamlrender.Renderer{}, Place: func(name string) string { return `"${` + name + `}"` },
			Source: func(tb testing.TB, files map[string]string) []byte { return source(tb, files) },
		}
	})
}

func values() map[string]render.Value {
	return map[string]render.Value{
		"replicas": {Value: int64(3)}, "host": {Value: "shop.example.com"}, "debug": {Value: true}, "a.b-c_d": {Value: "x"}, "unset": {},
		"password": {Value: "", Secret: true},
	}
}

// A scalar that is a placeholder is replaced, whole and typed; everything else stays as it is written.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"${replicas}": int64(3), `"${replicas}"`: int64(3), "'${replicas}'": int64(3), "${debug}": true, "${host}": "shop.example.com", "${a.b-c_d}": "x",
		">-\n  ${host}": "shop.example.com", "|\n  ${host}": "${host}\n", "$${host}": "${host}", "$$${host}": "$$${host}", "$$${": "$$${", "x${host}": "x${host}",
		"${host}x": "${host}x", "${host} ": "shop.example.com", `"${host} "`: "${host} ", "${host}${host}": "${host}${host}", "$host": "$host", "${}": "${}",
		"${HOST:-x}": "${HOST:-x}", "${1x}": "${1x}", "$${1x}": "$${1x}", "$(host)": "$(host)", "{{ host }}x": nil, "[\"${host}\", \"${unset}\", 1]": []any{"shop.example.com", int64(1)},
		"{\"${host}\": 1, b: \"${unset}\", c: \"${debug}\"}": map[string]any{"${host}": int64(1), "c": true}, "${\thost}": "${\thost}", "${host\u200b}": "${host\u200b}",
	} {
		docs, err := yamlrender.Renderer{}.Render(t.Context(), render.Job{Source: source(t, map[string]string{"a.yaml": "v: " + text + "\n"}), Values: values()})
		if want == nil {
			if err == nil {
				t.Errorf("%s: %v", text, docs)
			}
			continue
		}
		if err != nil || len(docs) != 1 || !reflect.DeepEqual(docs[0].Object["v"], want) {
			t.Errorf("%s: %v, %v, want %#v", text, docs, err, want)
		}
	}
}

// A parameter that is not declared is named with the place that wants it, each of them; a secret's places are told, and
// nothing of it is in the document.
func TestUnknownAndSecretParameters(t *testing.T) {
	t.Parallel()
	_, err := yamlrender.Renderer{}.Render(t.Context(), render.Job{Values: values(), Source: source(t, map[string]string{
		"a.yaml": "x: [1, {y/z: '${other}'}]\n---\nx: ${host}\n---\nw: ${Host}\n", "b.yaml": "a: &x 1",
	})})
	f, _ := fault.As(err)
	var got []string
	for _, e := range f.Errors {
		got = append(got, e.Slug+" "+e.Field)
	}
	if want := []string{"parameter_unknown a.yaml#1:/x/1/y~1z", "parameter_unknown a.yaml#3:/w", "manifest_ambiguous b.yaml#1:/a"}; !reflect.DeepEqual(got, want) || f.Errors[0].Cure == "" {
		t.Errorf("%q, %v", got, f)
	}
	docs, err := yamlrender.Renderer{}.Render(t.Context(), render.Job{Values: values(), Source: source(t, map[string]string{
		"a.yaml": "l: ['${unset}', '${password}', {p: '${password}'}]\nstringData: {password: '${password}'}",
	})})
	if err != nil || !reflect.DeepEqual(docs[0].Secrets, map[string]string{"/l/0": "password", "/l/1/p": "password", "/stringData/password": "password"}) ||
		!reflect.DeepEqual(docs[0].Object["stringData"], map[string]any{"password": ""}) {
		t.Errorf("%+v, %v", docs, err)
	}
}

// Sources are canonical, and only those are read.
func TestSources(t *testing.T) {
	t.Parallel()
	if got := source(t, map[string]string{"b.yaml": "<&>", "a.yaml": "x\n"}); string(got) != `{"a.yaml":"x\n","b.yaml":"<&>"}` {
		t.Errorf("%s", got)
	}
	for text, files := range map[string]map[string]string{
		"manifest_empty ": {}, "source_file_invalid ..~1a": {"../a": ""}, "source_file_invalid .a": {".a": ""}, "source_file_invalid ": {"": ""},
		"source_file_invalid a": {"a": "\xff"}, "manifest_too_large ": {"a": strings.Repeat("x", delivery.MaxSource+1)},
	} {
		_, errs := delivery.EncodeFiles(files)
		if len(errs) != 1 || errs[0].Slug+" "+errs[0].Field != text {
			t.Errorf("%v, want %s", errs, text)
		}
	}
	many := map[string]string{}
	for i := range delivery.MaxFiles + 1 {
		many[strings.Repeat("a", i+1)] = ""
	}
	if _, errs := delivery.EncodeFiles(many); len(errs) != 1 || errs[0].Slug != "manifest_too_large" {
		t.Errorf("%v", errs)
	}
	for _, text := range []string{`{"a":"x"} `, `{"b":"","a":""}`, `{"a":"","a":""}`, `{"a":"\u0078"}`, `{"a":null}`} {
		if _, err := delivery.DecodeFiles([]byte(text)); fault.SlugOf(err) != "manifest_invalid" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Nothing that is rendered holds a placeholder of a declared parameter, and rendering with other values changes nothing but
// what stood in their places.
func FuzzRender(f *testing.F) {
	for _, s := range []string{"a: ${host}\nb: {c: ['${unset}', $${host}]}", "${host}: x", "a: '${password}'", "a: |\n  ${host}", "- ${replicas}", "a: ${other}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		encoded, errs := delivery.EncodeFiles(map[string]string{"f.yaml": text})
		if len(errs) > 0 {
			return
		}
		docs, err := yamlrender.Renderer{}.Render(t.Context(), render.Job{Source: encoded, Values: values()})
		if err != nil {
			if k := fault.KindOf(err); k != fault.Invalid {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := yamlrender.Renderer{}.Render(t.Context(), render.Job{Source: encoded, Values: values()})
		if err != nil || !reflect.DeepEqual(docs, again) {
			t.Fatalf("%v, then %v (%v)", docs, again, err)
		}
		for _, d := range docs {
			for place, name := range d.Secrets {
				if name != "password" || !strings.HasPrefix(place, "/") {
					t.Fatalf("%q at %q", name, place)
				}
			}
		}
		if data, err := delivery.Encode(docs); err == nil && bytes.Contains(data, []byte("\x00")) {
			t.Fatal("a NUL is rendered")
		}
	})
}

// Quantities are what Kubernetes makes of them: refused where it refuses them, and rounded up as it does; beyond that,
// what it counts below zero or caps is refused.
func TestQuantitiesAreThoseOfKubernetes(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(
		rapid.StringMatching(`\+?[0-9]{0,6}(\.[0-9]{0,6})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e[0-9]{1,2}|E[+-]?[0-9]|e-[0-9]{1,2}|e|i|K|)`),
		rapid.StringMatching(`[-+]?[0-9.]{0,4}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,2}`), rapid.String())
	counts := regexp.MustCompile(`^\+?\.?[0-9]`) // without a digit, Kubernetes reads a zero
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "quantity")
		n, refused := quantity.Bytes(s)
		q, err := resource.ParseQuantity(s)
		if err != nil || q.Sign() < 0 || strings.HasPrefix(s, "-") || !counts.MatchString(s) {
			if refused == nil {
				t.Fatalf("%q is read as %d, and Kubernetes says %v", s, n, err)
			}
			return
		}
		if q.CmpInt64(1<<62) > 0 { // what is larger than it counts, it caps
			return
		}
		if refused != nil || n != q.Value() {
			t.Fatalf("%q is %d (%v), and %d for Kubernetes", s, n, refused, q.Value())
		}
		if q.CmpInt64(1<<52) > 0 {
			return
		}
		if milli, err := quantity.MilliCPU(s); err != nil || milli != q.MilliValue() {
			t.Fatalf("%q is %d (%v), and %d for Kubernetes", s, milli, err, q.MilliValue())
		}
	})
}
