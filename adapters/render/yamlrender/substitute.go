package yamlrender

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/render"
)

// substitution walks through one document.
type substitution struct {
	origin  string
	values  map[string]render.Value
	path    []string
	secrets map[string]string
	faults  []*fault.Error
}

func substitute(d render.Document, values map[string]render.Value) (render.Document, []*fault.Error) {
	s := substitution{origin: d.Origin, values: values, secrets: map[string]string{}}
	out, _ := s.object(d.Object).(map[string]any)
	return render.Document{Origin: d.Origin, Object: out, Secrets: s.secrets}, s.faults
}

// absent stands in the place of a parameter without a value: whatever it is the value of is left out.
type absent struct{}

func (s *substitution) within(step string, v any) any {
	s.path = append(s.path, step)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	switch v := v.(type) {
	case map[string]any:
		return s.object(v)
	case []any:
		return s.list(v)
	case string:
		return s.scalar(v)
	}
	return v
}

func (s *substitution) object(m map[string]any) any {
	out := make(map[string]any, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if v := s.within(key, m[key]); v != (absent{}) {
			out[key] = v
		}
	}
	return out
}

// list names the places of what is kept by where they are in the end.
func (s *substitution) list(items []any) any {
	out := make([]any, 0, len(items))
	for _, item := range items {
		if v := s.within(strconv.Itoa(len(out)), item); v != (absent{}) {
			out = append(out, v)
		}
	}
	return out
}

func (s *substitution) scalar(text string) any {
	if rest, escaped := strings.CutPrefix(text, "$"); escaped {
		if _, ok := placeholder(rest); ok {
			return rest
		}
	}
	name, ok := placeholder(text)
	if !ok {
		return text
	}
	value, declared := s.values[name]
	switch {
	case !declared:
		s.faults = append(s.faults, fault.New(fault.Invalid, "parameter_unknown", "the release declares no parameter %q", name).
			At(s.origin+":"+delivery.Pointer(s.path)).Curable("declare it, or write $${%s} where the text itself is meant", name))
		return text
	case value.Secret:
		s.secrets[delivery.Pointer(s.path)] = name
		return ""
	case value.Value == nil:
		return absent{}
	}
	return value.Value
}

// placeholder returns the name in a text that is ${name} and nothing else.
func placeholder(text string) (string, bool) {
	name, opened := strings.CutPrefix(text, "${")
	name, closed := strings.CutSuffix(name, "}")
	return name, opened && closed && delivery.ValidParameterName(name)
}
