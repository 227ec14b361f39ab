package httpapi

import (
	"maps"
	"slices"
	"strconv"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Parameters reads the values of a release's parameters in the text of their types. A number that JSON does not keep
// exactly is given as a string. Faults: Invalid parameter_invalid, each parameter named.
func Parameters(in map[string]any) (map[string]string, error) {
	out := make(map[string]string, len(in))
	var wrong []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(in)) {
		text, ok := Scalar(in[name])
		if !ok {
			wrong = append(wrong, fault.New(fault.Invalid, "parameter_invalid",
				"a value is a string, a boolean, or a whole number below 2^53").At("body.parameters."+name).Curable("give it as a string"))
		}
		out[name] = text
	}
	return out, fault.All(wrong...)
}

// Scalar is a decoded value in the text of its type: a string, a boolean, or a whole number that JSON keeps exactly; false
// for any other.
func Scalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatInt(int64(v), 10), v >= -ident.MaxCounter && v <= ident.MaxCounter && v == float64(int64(v))
	}
	return "", false
}
