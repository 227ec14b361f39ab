package rendertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/render"
)

// Memory renders JSON in place of YAML, with "${name}" in the places of parameters, and keeps the laws of this package. Its
// sources are those of delivery.EncodeFiles. It can be told to fail, and counts what it is asked.
type Memory struct {
	mu    sync.Mutex
	fails error
	asked int
}

var _ render.Renderer = (*Memory)(nil)

// Fail makes every rendering end with err; nil ends that.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = err
}

// Asked is how many renderings were asked for.
func (m *Memory) Asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

func (m *Memory) ask() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	return m.fails
}

// Render is as render.Renderer has it.
func (m *Memory) Render(ctx context.Context, job render.Job) ([]render.Document, error) {
	if err := m.ask(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fault.New(fault.Unavailable, "render_unavailable", "the request ended").Because(ctx.Err())
	}
	files, err := delivery.DecodeFiles(job.Source)
	if err != nil {
		return nil, err
	}
	var docs []render.Document
	var faults []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for i, text := range strings.Split(files[name], "---\n") {
			found, errs := document(fmt.Sprintf("%s#%d", name, i+1), text, job.Values)
			docs, faults = append(docs, found...), append(faults, errs...)
		}
	}
	if len(faults) > 0 {
		return nil, fault.All(faults...)
	}
	return docs, nil
}

func document(origin, text string, values map[string]render.Value) ([]render.Document, []*fault.Error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), "---")
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	p := parser{decoder: json.NewDecoder(strings.NewReader(text)), values: values, secrets: map[string]string{}}
	p.decoder.UseNumber()
	v, err := p.value(nil)
	if err != nil {
		return nil, []*fault.Error{err.At(origin)}
	}
	o, ok := v.(map[string]any)
	switch {
	case !ok:
		return nil, []*fault.Error{bad("this is no object").At(origin)}
	case o["kind"] == "List":
		return takeApart(origin, o)
	}
	return []render.Document{{Origin: origin, Object: o, Secrets: p.secrets}}, nil
}

func takeApart(origin string, o map[string]any) ([]render.Document, []*fault.Error) {
	var docs []render.Document
	items, _ := o["items"].([]any)
	for i, item := range items {
		at := fmt.Sprintf("%s:/items/%d", origin, i)
		object, ok := item.(map[string]any)
		if !ok || object["kind"] == "List" {
			return nil, []*fault.Error{bad("this is no item of a List").At(at)}
		}
		docs = append(docs, render.Document{Origin: at, Object: object, Secrets: map[string]string{}})
	}
	return docs, nil
}

func bad(why string) *fault.Error { return fault.New(fault.Invalid, "manifest_invalid", "%s", why) }

// parser reads JSON by its tokens, to see what is given twice.
type parser struct {
	decoder *json.Decoder
	values  map[string]render.Value
	secrets map[string]string
}

// absent stands in the place of a parameter without a value.
type absent struct{}

func (p parser) value(path []string) (any, *fault.Error) {
	if len(path) > delivery.MaxDepth {
		return nil, fault.New(fault.Invalid, "manifest_too_large", "this is too deep")
	}
	token, err := p.decoder.Token()
	if errors.Is(err, io.EOF) || err != nil {
		return nil, bad("this is no JSON")
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return p.object(path)
		}
		return p.list(path)
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		f, err := t.Float64()
		if err != nil {
			return nil, bad("this is no number")
		}
		return f, nil
	case string:
		return p.text(t, path)
	}
	return token, nil
}

func (p parser) object(path []string) (any, *fault.Error) {
	out := map[string]any{}
	for p.decoder.More() {
		token, err := p.decoder.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return nil, bad("this is no JSON")
		}
		if _, twice := out[key]; twice {
			return nil, fault.New(fault.Invalid, "manifest_ambiguous", "a key is given twice")
		}
		v, wrong := p.value(append(slices.Clone(path), key))
		if wrong != nil {
			return nil, wrong
		}
		if v != (absent{}) {
			out[key] = v
		}
	}
	_, _ = p.decoder.Token() // the closing brace
	return out, nil
}

func (p parser) list(path []string) (any, *fault.Error) {
	out := []any{}
	for p.decoder.More() {
		v, wrong := p.value(append(slices.Clone(path), fmt.Sprint(len(out))))
		if wrong != nil {
			return nil, wrong
		}
		if v != (absent{}) {
			out = append(out, v)
		}
	}
	_, _ = p.decoder.Token() // the closing bracket
	return out, nil
}

func (p parser) text(text string, path []string) (any, *fault.Error) {
	inner, opened := strings.CutPrefix(text, "${")
	name, closed := strings.CutSuffix(inner, "}")
	if !opened || !closed {
		return text, nil
	}
	v, declared := p.values[name]
	switch {
	case !declared:
		return nil, fault.New(fault.Invalid, "parameter_unknown", "the release declares no parameter %q", name)
	case v.Secret:
		p.secrets[delivery.Pointer(path)] = name
		return "", nil
	case v.Value == nil:
		return absent{}, nil
	}
	return v.Value, nil
}
