package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// mutant is an answer with one thing changed.
type mutant struct {
	what string
	actual
}

// mutants are an answer's: every member that was recorded removed, every value retyped, every value that is no
// placeholder changed, another status, another slug, every recorded header removed.
func mutants(recorded Answer, a actual) []mutant {
	out := []mutant{{"another status", actual{a.status + 1, a.header, a.body}}}
	for name := range recorded.Headers {
		header := a.header.Clone()
		header.Del(name)
		out = append(out, mutant{"no header " + name, actual{a.status, header, a.body}})
	}
	if recorded.Body == nil {
		return append(out, mutant{"a body", actual{a.status, a.header, map[string]any{"x": true}}})
	}
	for _, c := range changes("body", recorded.Body, a.body) {
		out = append(out, mutant{c.what, actual{a.status, a.header, c.value}})
	}
	return out
}

// changed is a whole value with one thing in it changed.
type changed struct {
	what  string
	value any
}

func changes(at string, recorded, got any) []changed {
	out := []changed{{at + " retyped", retyped(got)}}
	switch want := recorded.(type) {
	case map[string]any:
		have, _ := got.(map[string]any)
		for name, w := range want {
			without := maps.Clone(have)
			delete(without, name)
			out = append(out, changed{at + "." + name + " removed", without})
			for _, c := range changes(at+"."+name, w, have[name]) {
				with := maps.Clone(have)
				with[name] = c.value
				out = append(out, changed{c.what, with})
			}
		}
	case []any:
		have, _ := got.([]any)
		out = append(out, changed{at + " longer", append(append([]any{}, have...), "x")})
		for i, w := range want {
			for _, c := range changes(fmt.Sprintf("%s[%d]", at, i), w, have[i]) {
				with := append([]any{}, have...)
				with[i] = c.value
				out = append(out, changed{c.what, with})
			}
		}
	default:
		if text, ok := want.(string); !ok || !strings.HasPrefix(text, "{{") {
			out = append(out, changed{at + " changed", other(got)})
		}
	}
	return out
}

func retyped(v any) any {
	switch kindOf(v) {
	case "string", "time":
		return json.Number("1")
	case "object":
		return []any{v}
	case "list":
		return map[string]any{"0": v}
	}
	return "a text"
}

func other(v any) any {
	switch t := v.(type) {
	case string:
		return t + "_other"
	case json.Number:
		return t + "1"
	case bool:
		return !t
	}
	return "a text"
}

// grown is a value to which every object got one more member, as a later version may.
func grown(v any) any {
	switch t := v.(type) {
	case map[string]any:
		out := map[string]any{"added_later": true}
		for name, x := range t {
			out[name] = grown(x)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, x := range t {
			out[i] = grown(x)
		}
		return out
	}
	return v
}
