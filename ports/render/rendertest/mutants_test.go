package rendertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/render"
)

type rendering func(ctx context.Context, job render.Job) ([]render.Document, error)

func (r rendering) Render(ctx context.Context, job render.Job) ([]render.Document, error) {
	return r(ctx, job)
}

func subject(r render.Renderer) Subject {
	return Subject{
		Renderer: r, Place: func(name string) string { return `"${` + name + `}"` },
		Source: func(tb testing.TB, files map[string]string) []byte {
			source, errs := delivery.EncodeFiles(files)
			if len(errs) > 0 {
				tb.Fatal(errs)
			}
			return source
		},
	}
}

// The renderer in memory keeps every law, fails when it is told to, and counts.
func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Subject { return subject(&Memory{}) })
	m := &Memory{}
	m.Fail(fault.New(fault.Unavailable, "render_unavailable", "away"))
	if _, err := m.Render(t.Context(), render.Job{}); fault.SlugOf(err) != "render_unavailable" || m.Asked() != 1 {
		t.Errorf("%v, asked %d times", err, m.Asked())
	}
	m.Fail(nil)
	docs, err := m.Render(t.Context(), render.Job{
		Source: subject(m).Source(t, map[string]string{"a": `{"a":["${n}","${s}",0.5],"b":"${n}"}`}),
		Values: map[string]render.Value{"n": {}, "s": {Value: "", Secret: true}},
	})
	if err != nil || fmt.Sprint(docs) != "[{a#1 map[a:[ 0.5]] map[/a/0:s]}]" {
		t.Errorf("%v, %v", docs, err)
	}
}

// after changes what a sound renderer answers.
func after(change func(job render.Job, docs []render.Document, err error) ([]render.Document, error)) rendering {
	return func(ctx context.Context, job render.Job) ([]render.Document, error) {
		docs, err := (&Memory{}).Render(ctx, job)
		return change(job, docs, err)
	}
}

// before changes what a sound renderer is asked.
func before(change func(files map[string]string) map[string]string) rendering {
	return func(ctx context.Context, job render.Job) ([]render.Document, error) {
		if files, err := delivery.DecodeFiles(job.Source); err == nil {
			if source, errs := delivery.EncodeFiles(change(files)); len(errs) == 0 {
				job.Source = source
			}
		}
		return (&Memory{}).Render(ctx, job)
	}
}

// valued changes each value on its way in.
func valued(change func(v any) any) rendering {
	return func(ctx context.Context, job render.Job) ([]render.Document, error) {
		values := map[string]render.Value{}
		for name, v := range job.Values {
			values[name] = render.Value{Value: change(v.Value), Secret: v.Secret}
		}
		job.Values = values
		return (&Memory{}).Render(ctx, job)
	}
}

// Each renderer that is broken on purpose is caught by the law that forbids its fault.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, laws(), m.law, func(testing.TB) Subject { return subject(m.make()) })
		})
	}
}

type mutant struct {
	law  string
	make func() render.Renderer
}

func mutants() map[string]mutant {
	always := func(r rendering) func() render.Renderer { return func() render.Renderer { return r } }
	return map[string]mutant{
		"reverses": {"objects come in the order of the source, each named", always(after(func(_ render.Job, d []render.Document, err error) ([]render.Document, error) {
			slices.Reverse(d)
			return d, err
		}))},
		"names files only": {"objects come in the order of the source, each named", always(after(func(_ render.Job, d []render.Document, err error) ([]render.Document, error) {
			for i := range d {
				d[i].Origin, _, _ = strings.Cut(d[i].Origin, "#")
			}
			return d, err
		}))},
		"drops a List": {"a List is taken apart", always(before(func(f map[string]string) map[string]string {
			for name, text := range f {
				if strings.Contains(text, `"List"`) {
					f[name] = object("three", "")
				}
			}
			return f
		}))},
		"makes an object of nothing": {"a source without objects is none", always(after(func(_ render.Job, d []render.Document, err error) ([]render.Document, error) {
			if len(d) == 0 && err == nil {
				d = []render.Document{{Object: map[string]any{}}}
			}
			return d, err
		}))},
		"quotes numbers": {"a value keeps its type", always(valued(func(v any) any {
			if n, ok := v.(int64); ok {
				return fmt.Sprint(n)
			}
			return v
		}))},
		"reads words as booleans": {"a value keeps its type", always(valued(func(v any) any {
			if v == "on" {
				return true
			}
			return v
		}))},
		"counts in floats": {"a value keeps its type", always(valued(func(v any) any {
			if n, ok := v.(int64); ok {
				return float64(n)
			}
			return v
		}))},
		"substitutes text": {"a value never becomes structure", func() render.Renderer {
			return rendering(func(ctx context.Context, job render.Job) ([]render.Document, error) {
				files, err := delivery.DecodeFiles(job.Source)
				if err != nil {
					return nil, err
				}
				for name := range files {
					for p, v := range job.Values {
						files[name] = strings.ReplaceAll(files[name], "${"+p+"}", fmt.Sprint(v.Value))
					}
				}
				source, _ := delivery.EncodeFiles(files)
				return (&Memory{}).Render(ctx, render.Job{Source: source, Values: job.Values})
			})
		}},
		"trims values": {"a value never becomes structure", always(valued(func(v any) any {
			if s, ok := v.(string); ok {
				return strings.TrimSpace(s)
			}
			return v
		}))},
		"counts its calls": {"the same job is rendered to the same objects", func() render.Renderer {
			var calls atomic.Int64
			return after(func(_ render.Job, d []render.Document, err error) ([]render.Document, error) {
				for i := range d {
					d[i].Object["call"] = calls.Add(1)
				}
				return d, err
			})
		}},
		"empties the values": {"the same job is rendered to the same objects", always(after(func(job render.Job, d []render.Document, err error) ([]render.Document, error) {
			for name := range job.Values {
				if name == "unused" {
					job.Values[name] = render.Value{}
				}
			}
			return d, err
		}))},
		"shares what it made": {"what was rendered is the caller's own", func() render.Renderer {
			made := map[string][]render.Document{}
			return after(func(job render.Job, d []render.Document, err error) ([]render.Document, error) {
				if kept, ok := made[string(job.Source)]; ok {
					return kept, err
				}
				made[string(job.Source)] = d
				return d, err
			})
		}},
		"stops at the first": {"every bad document is named", always(after(func(_ render.Job, d []render.Document, err error) ([]render.Document, error) {
			if f, ok := fault.As(err); ok && len(f.Errors) > 0 {
				return d, f.Errors[0]
			}
			return d, err
		}))},
		"names nothing": {"every bad document is named", always(after(func(_ render.Job, d []render.Document, err error) ([]render.Document, error) {
			if f, ok := fault.As(err); ok {
				for _, e := range f.Errors {
					e.Field = ""
				}
			}
			return d, err
		}))},
		"takes the last of two": {"what can be understood in two ways is refused", always(after(func(job render.Job, d []render.Document, err error) ([]render.Document, error) {
			if fault.SlugOf(err) != "manifest_ambiguous" {
				return d, err
			}
			files, _ := delivery.DecodeFiles(job.Source)
			var o map[string]any
			_ = json.Unmarshal([]byte(files["a.yaml"]), &o)
			return []render.Document{{Object: o}}, nil
		}))},
		"lets Lists nest": {"a List within a List is refused", always(after(func(_ render.Job, d []render.Document, err error) ([]render.Document, error) {
			return d, nil
		}))},
		"has no bounds": {"what is too large or too deep is refused", always(after(func(_ render.Job, d []render.Document, err error) ([]render.Document, error) {
			if fault.SlugOf(err) == "manifest_too_large" {
				return d, nil
			}
			return d, err
		}))},
		"takes garbage for nothing": {"what is no source is refused", always(after(func(_ render.Job, d []render.Document, err error) ([]render.Document, error) {
			return d, nil
		}))},
		"does not look at its context": {"an ended context is heeded", func() render.Renderer {
			return rendering(func(ctx context.Context, job render.Job) ([]render.Document, error) {
				return (&Memory{}).Render(context.WithoutCancel(ctx), job)
			})
		}},
	}
}

// Every law has a mutant that it catches.
func TestEveryLawCatchesSomething(t *testing.T) {
	t.Parallel()
	for _, l := range laws() {
		found := false
		for _, m := range mutants() {
			found = found || m.law == l.Name
		}
		if !found {
			t.Errorf("no mutant breaks %q", l.Name)
		}
	}
}
