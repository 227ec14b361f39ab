package wire

import (
	"errors"
	"maps"
	"strings"
)

// fill writes the answers that were not recorded yet, from two runs of the story: what differs between them is what
// differs from run to run, and becomes a placeholder unless its author put one there. Answers that were recorded stay.
func fill(s *Story, one, two []exchange) error {
	if len(one) != len(s.Steps) || len(two) != len(s.Steps) {
		return errors.New("the story was not played to its end")
	}
	for i, step := range s.Steps {
		if step.recorded() {
			continue
		}
		a, b := one[i], two[i]
		if a.got.status != b.got.status {
			return errors.New(step.What + ": two runs were answered otherwise")
		}
		f := filling{known: same(a.before, b.before)}
		step.Answer.Body = f.fill(step.Answer.Body, a.got.body, b.got.body)
		if step.Answer.Headers == nil {
			step.Answer.Headers = map[string]string{}
		}
		if kind := a.got.header.Get("Content-Type"); kind != "" {
			step.Answer.Headers["Content-Type"] = kind
		}
		if step.Answer.Status = a.got.status; step.slug() != "" {
			trim(step.Answer.Body)
		}
	}
	return nil
}

// pair is a value in either run.
type pair struct{ one, two any }

// same turns what was bound in both runs round: which name is bound to such a pair of values.
func same(one, two map[string]any) map[pair]string {
	out := map[pair]string{}
	for name, x := range one {
		if y := two[name]; x != y && y != nil {
			out[pair{x, y}] = name
		}
	}
	return out
}

type filling struct{ known map[pair]string }

// fill is what is recorded of a value that came as one and as two; written is what its author wrote, nil for nothing.
func (f filling) fill(written, one, two any) any {
	if text, ok := written.(string); ok {
		return text
	}
	switch x := one.(type) {
	case map[string]any:
		return f.object(written, x, two)
	case []any:
		return f.list(written, x, two)
	case nil:
		return nil
	}
	if one == two && kindOf(one) != "time" {
		return one
	}
	if name, ok := f.known[pair{one, two}]; ok {
		return "{{" + name + "}}"
	}
	return "{{:" + kindOf(one) + "}}"
}

func (f filling) object(written any, one map[string]any, two any) any {
	w, _ := written.(map[string]any)
	y, _ := two.(map[string]any)
	out := maps.Clone(one)
	for name, x := range one {
		out[name] = f.fill(w[name], x, y[name])
	}
	return out
}

func (f filling) list(written any, one []any, two any) any {
	w, _ := written.([]any)
	y, _ := two.([]any)
	out := make([]any, len(one))
	for i, x := range one {
		var wi, yi any
		if i < len(w) {
			wi = w[i]
		}
		if i < len(y) {
			yi = y[i]
		}
		out[i] = f.fill(wi, x, yi)
	}
	return out
}

// trim leaves of a problem what the contract names: type, title, status, detail, and the parts. Its texts are for people
// and may be said otherwise.
func trim(body any) {
	problem, _ := body.(map[string]any)
	for name := range problem {
		if !strings.Contains(" type title status detail errors ", " "+name+" ") {
			delete(problem, name)
		}
	}
	problem["title"], problem["detail"] = "{{:string}}", "{{:string}}"
	parts, _ := problem["errors"].([]any)
	for _, p := range parts {
		part, _ := p.(map[string]any)
		for _, name := range []string{"detail", "cure"} {
			if _, there := part[name]; there {
				part[name] = "{{:string}}"
			}
		}
	}
}
