// Package rendertest is the suite that every renderer passes, and a renderer in memory for other tests.
package rendertest

import (
	"context"
	"maps"
	"reflect"
	"strings"
	"testing"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/render"
)

// Subject is a renderer, and what sources of its kind look like. A file's text is JSON documents, parted by lines of ---.
type Subject struct {
	Renderer render.Renderer
	Source   func(tb testing.TB, files map[string]string) []byte
	Place    func(parameter string) string // the JSON value that stands for a parameter's value in a file
}

// Run checks every law, each on a subject of its own.
func Run(t *testing.T, open func(tb testing.TB) Subject) {
	t.Helper()
	law.Run(t, laws(), open)
}

func laws() []law.Law[Subject] {
	return []law.Law[Subject]{
		{Name: "objects come in the order of the source, each named", Check: keepsOrder},
		{Name: "a List is taken apart", Check: takesListsApart},
		{Name: "a source without objects is none", Check: rendersNothing},
		{Name: "a value keeps its type", Check: keepsTypes},
		{Name: "a value never becomes structure", Check: keepsStructure},
		{Name: "the same job is rendered to the same objects", Check: repeats},
		{Name: "what was rendered is the caller's own", Check: givesAway},
		{Name: "every bad document is named", Check: namesEachFault},
		{Name: "what can be understood in two ways is refused", Check: refusesAmbiguity},
		{Name: "a List within a List is refused", Check: refusesNestedLists},
		{Name: "what is too large or too deep is refused", Check: boundsSize},
		{Name: "what is no source is refused", Check: refusesGarbage},
		{Name: "an ended context is heeded", Check: heedsContext},
	}
}

func (s Subject) render(tb testing.TB, files map[string]string, values map[string]render.Value) ([]render.Document, error) {
	tb.Helper()
	return s.Renderer.Render(tb.Context(), render.Job{
		Source: s.Source(tb, files), Release: "shop", Namespace: "acme", Values: values, Versions: map[string]string{"kubernetes": "1.31.0"},
	})
}

func (s Subject) rendered(tb testing.TB, files map[string]string, values map[string]render.Value) []render.Document {
	tb.Helper()
	docs, err := s.render(tb, files, values)
	if err != nil {
		tb.Fatalf("a sound source is refused: %v", err)
	}
	return docs
}

// refused returns the parts of a refusal, which is of one kind.
func (s Subject) refused(tb testing.TB, files map[string]string, slug string) []*fault.Error {
	tb.Helper()
	docs, err := s.render(tb, files, nil)
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.Invalid || f.Slug != slug || len(docs) > 0 {
		tb.Fatalf("answered with %d objects and %v, not with %s", len(docs), err, slug)
	}
	if len(f.Errors) == 0 {
		return []*fault.Error{f}
	}
	return f.Errors
}

func object(name, more string) string {
	return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"` + name + `"}` + more + `}`
}

func keepsOrder(tb testing.TB, s Subject) {
	docs := s.rendered(tb, map[string]string{
		"b.yaml": object("three", "") + "\n---\n" + object("four", ""), "a.yaml": object("one", "") + "\n---\n---\n" + object("two", ""),
	}, nil)
	if got, want := delivery.Objects(docs), []string{"Secret/one", "Secret/two", "Secret/three", "Secret/four"}; !reflect.DeepEqual(got, want) {
		tb.Errorf("came as %q, not as %q", got, want)
	}
	seen := map[string]bool{}
	for i, d := range docs {
		if file := []string{"a.yaml", "b.yaml"}[i/2]; !strings.Contains(d.Origin, file) || seen[d.Origin] {
			tb.Errorf("object %d of %s is named %q", i, file, d.Origin)
		}
		seen[d.Origin] = true
	}
}

func takesListsApart(tb testing.TB, s Subject) {
	docs := s.rendered(tb, map[string]string{
		"a.yaml": `{"apiVersion":"v1","kind":"List","items":[` + object("one", "") + "," + object("two", "") + `]}` + "\n---\n" + object("three", ""),
	}, nil)
	if got, want := delivery.Objects(docs), []string{"Secret/one", "Secret/two", "Secret/three"}; !reflect.DeepEqual(got, want) {
		tb.Errorf("came as %q, not as %q", got, want)
	}
}

func rendersNothing(tb testing.TB, s Subject) {
	if docs := s.rendered(tb, map[string]string{"a.yaml": "\n---\n\n---\n"}, nil); len(docs) != 0 {
		tb.Errorf("%d objects of nothing", len(docs))
	}
}

func keepsTypes(tb testing.TB, s Subject) {
	for _, given := range []any{"1", "true", "null", "", "1Gi", "0644", "on", "~", "2026-01-31", int64(7), int64(-1), int64(1<<53 - 1), true, false} {
		docs := s.rendered(tb, map[string]string{"a.yaml": object("one", `,"data":{"value":`+s.Place("size")+`}`)},
			map[string]render.Value{"size": {Value: given}})
		if got := value(docs); got != given {
			tb.Errorf("%T %v became %T %v", given, given, got, got)
		}
	}
}

func value(docs []render.Document) any { return data(docs)["value"] }

func data(docs []render.Document) map[string]any {
	if len(docs) == 0 {
		return nil
	}
	out, _ := docs[0].Object["data"].(map[string]any)
	return out
}

func keepsStructure(tb testing.TB, s Subject) {
	for _, given := range []string{
		"x\nother: y", "x\n---\napiVersion: v1", `x","other":"y`, "x}}", "{other: y}", "[1, 2]", "*a", "&a b", "!!binary x", "# no", "- x", "{{ .Values.size }}",
		"${size}", "$${size}", "\t", " x ", "'", `"`, `\`, "é\u2028\u0085", "x: y", "? x", "|\n x", "<<",
	} {
		docs := s.rendered(tb, map[string]string{"a.yaml": object("one", `,"data":{"value":`+s.Place("size")+`}`)},
			map[string]render.Value{"size": {Value: given}})
		if got := value(docs); got != given || len(docs) != 1 || len(data(docs)) != 1 {
			tb.Errorf("%q became %v", given, docs)
		}
	}
}

func repeats(tb testing.TB, s Subject) {
	files := map[string]string{"a.yaml": object("one", `,"data":{"value":`+s.Place("size")+`}`), "b.yaml": object("two", ""), "c.yaml": object("three", "")}
	values := map[string]render.Value{"size": {Value: "x"}, "unused": {Value: int64(1)}}
	first := s.rendered(tb, files, maps.Clone(values))
	type result struct {
		docs []render.Document
		job  map[string]render.Value // as the rendering left it
	}
	results := make(chan result, 8)
	for range cap(results) {
		go func() {
			own := maps.Clone(values)
			docs, _ := s.render(tb, files, own)
			results <- result{docs, own}
		}()
	}
	for range cap(results) {
		got := <-results
		if !reflect.DeepEqual(got.docs, first) {
			tb.Errorf("first %v, then %v", first, got.docs)
		}
		if !reflect.DeepEqual(got.job, values) {
			tb.Error("the job was changed")
		}
	}
}

func givesAway(tb testing.TB, s Subject) {
	files := map[string]string{"a.yaml": object("one", `,"data":{"value":"x"}`)}
	if first := s.rendered(tb, files, nil); value(first) == "x" {
		data(first)["value"] = "changed"
	}
	if got := value(s.rendered(tb, files, nil)); got != "x" {
		tb.Errorf("what a caller changed is rendered again: %v", got)
	}
}

func namesEachFault(tb testing.TB, s Subject) {
	errs := s.refused(tb, map[string]string{"a.yaml": `[1]`, "b.yaml": object("one", "") + "\n---\n" + `"text"`, "c.yaml": object("two", "")}, "manifest_invalid")
	if len(errs) != 2 || !strings.Contains(errs[0].Field, "a.yaml") || !strings.Contains(errs[1].Field, "b.yaml") {
		tb.Errorf("two documents are bad, and named are %v", errs)
	}
	for _, e := range errs {
		if e.Detail == "" || e.Slug != "manifest_invalid" {
			tb.Errorf("%+v", e)
		}
	}
}

func refusesAmbiguity(tb testing.TB, s Subject) {
	s.refused(tb, map[string]string{"a.yaml": object("one", `,"data":{"a":"1","a":"2"}`)}, "manifest_ambiguous")
	s.refused(tb, map[string]string{"a.yaml": object("one", `,"kind":"Pod"`)}, "manifest_ambiguous")
}

func refusesNestedLists(tb testing.TB, s Subject) {
	inner := `{"apiVersion":"v1","kind":"List","items":[` + object("one", "") + `]}`
	s.refused(tb, map[string]string{"a.yaml": `{"apiVersion":"v1","kind":"List","items":[` + inner + `]}`}, "manifest_invalid")
}

func boundsSize(tb testing.TB, s Subject) {
	deep := strings.Repeat(`{"a":`, delivery.MaxDepth+1) + "1" + strings.Repeat("}", delivery.MaxDepth+1)
	s.refused(tb, map[string]string{"a.yaml": object("one", `,"data":`+deep)}, "manifest_too_large")
}

func refusesGarbage(tb testing.TB, s Subject) {
	for _, source := range []string{"", "null", "{}", "[]", "\x00\xff", `{"a.yaml":1}`, "\x1f\x8b", strings.Repeat("x", 1000)} {
		docs, err := s.Renderer.Render(tb.Context(), render.Job{Source: []byte(source), Release: "shop", Namespace: "acme"})
		if err == nil || fault.KindOf(err) != fault.Invalid || len(docs) > 0 {
			tb.Errorf("%.20q is answered with %v, %v", source, docs, err)
		}
	}
}

func heedsContext(tb testing.TB, s Subject) {
	source := s.Source(tb, map[string]string{"a.yaml": object("one", "")})
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	docs, err := s.Renderer.Render(ctx, render.Job{Source: source, Release: "shop", Namespace: "acme"})
	if err == nil || fault.KindOf(err) != fault.Unavailable || len(docs) > 0 {
		tb.Errorf("answered with %v, %v", docs, err)
	}
}
