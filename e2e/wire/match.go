package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// actual is an answer as it came.
type actual struct {
	status int
	header http.Header
	body   any // nil where there is none
}

// differences are what a reader who knows the recording does not find in an answer. Values that the recording binds are
// bound, also those of an answer that differs elsewhere.
func differences(recorded Answer, a actual, v *values) []string {
	m := &matching{values: v}
	if recorded.Status != a.status {
		m.differ("status", "is %d, was recorded as %d", a.status, recorded.Status)
	}
	for _, name := range slices.Sorted(maps.Keys(recorded.Headers)) {
		if got := a.header.Values(name); len(got) == 1 {
			m.match("header "+name, recorded.Headers[name], got[0])
		} else {
			m.differ("header "+name, "is there %d times", len(got))
		}
	}
	if recorded.Body != nil {
		m.match("body", recorded.Body, a.body)
	} else if a.body != nil {
		m.differ("body", "is there, and was not")
	}
	return m.found
}

type matching struct {
	*values
	found []string
}

func (m *matching) differ(at, format string, args ...any) {
	m.found = append(m.found, at+" "+fmt.Sprintf(format, args...))
}

func (m *matching) match(at string, recorded, got any) {
	switch want := recorded.(type) {
	case map[string]any:
		m.object(at, want, got)
	case []any:
		m.list(at, want, got)
	case string:
		m.leaf(at, want, got)
	default:
		if recorded != got {
			m.differ(at, "is %s, was recorded as %s", show(got), show(recorded))
		}
	}
}

func (m *matching) object(at string, want map[string]any, got any) {
	have, ok := got.(map[string]any)
	if !ok {
		m.differ(at, "is %s, was recorded as an object", show(got))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		x, there := have[name]
		if !there {
			m.differ(at+"."+name, "is missing")
			continue
		}
		m.match(at+"."+name, want[name], x)
	}
}

func (m *matching) list(at string, want []any, got any) {
	have, ok := got.([]any)
	if !ok {
		m.differ(at, "is %s, was recorded as a list", show(got))
		return
	}
	if len(have) != len(want) {
		m.differ(at, "has %d elements, was recorded with %d", len(have), len(want))
		return
	}
	for i := range want {
		m.match(fmt.Sprintf("%s[%d]", at, i), want[i], have[i])
	}
}

// leaf compares a text, or what its placeholder says.
func (m *matching) leaf(at, want string, got any) {
	whole := placeholder.FindString(want) == want && want != ""
	name, kind, typed := strings.Cut(strings.Trim(want, "{}"), ":")
	if !whole || !typed {
		expected, err := m.expand(want)
		if err != nil {
			m.differ(at, "can not be compared: %v", err)
		} else if expected != got {
			m.differ(at, "is %s, was recorded as %s, which is %s", show(got), show(want), show(expected))
		}
		return
	}
	if is := kindOf(got); is != kind && (kind != "string" || is != "time") {
		m.differ(at, "is %s, was recorded as a %s", show(got), kind)
		return
	}
	if name == "" {
		return
	}
	if bound, ok := m.bound[name]; ok && bound != got {
		m.differ(at, "is %s, was %s before", show(got), show(bound))
		return
	}
	m.bound[name] = got
}

// kindOf is the type of a JSON value; a text that is a time in UTC is one.
func kindOf(v any) string {
	switch t := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, t); err == nil && strings.HasSuffix(t, "Z") {
			return "time"
		}
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "bool"
	case []any:
		return "list"
	case map[string]any:
		return "object"
	}
	return "null"
}

func show(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
