package settings

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

func kindName(v reflect.Value) string {
	switch v.Interface().(type) {
	case time.Duration:
		return "duration"
	case int:
		return "int"
	case bool:
		return "bool"
	case []string:
		return "list"
	}
	return "string"
}

// decode puts a value, as the file or a text has it, into a field, or says what would do.
func decode(v any, into reflect.Value) (problem string) {
	switch into.Interface().(type) {
	case time.Duration:
		if d, err := time.ParseDuration(scalar(v)); err == nil {
			into.SetInt(int64(d))
			return ""
		}
		return "must be a duration such as 15s or 30m"
	case int:
		if n, err := strconv.Atoi(scalar(v)); err == nil {
			into.SetInt(int64(n))
			return ""
		}
		return "must be a whole number"
	case bool:
		if b, err := strconv.ParseBool(scalar(v)); err == nil {
			into.SetBool(b)
			return ""
		}
		return "must be true or false"
	case []string:
		list, ok := listOf(v)
		if ok {
			into.Set(reflect.ValueOf(list))
			return ""
		}
		return "must be a list of texts"
	}
	s, ok := v.(string)
	if !ok {
		return "must be a text; write it in quotes"
	}
	into.SetString(s)
	return ""
}

// scalar is a number, truth value or text as text; empty for anything else, which no kind of value reads.
func scalar(v any) string {
	switch t := v.(type) {
	case string:
		return strings.TrimSpace(t)
	case int, bool:
		return fmt.Sprint(t)
	}
	return ""
}

func listOf(v any) ([]string, bool) {
	switch t := v.(type) {
	case string:
		var out []string
		for part := range strings.SplitSeq(t, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
		return out, true
	case []string:
		return t, true
	case []any:
		out := make([]string, 0, len(t))
		for _, e := range t {
			s, ok := e.(string)
			if !ok {
				return nil, false
			}
			out = append(out, s)
		}
		return out, true
	}
	return nil, false
}

// show is a field's value as a text that decode reads.
func show(v reflect.Value) string {
	switch t := v.Interface().(type) {
	case time.Duration:
		return t.String()
	case []string:
		return strings.Join(t, ",")
	default:
		return fmt.Sprint(t)
	}
}
