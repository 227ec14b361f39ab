package httpapi

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Parameters reads the values of a release's parameters in the text of their types, and apart from them the secret ones
// that come as {"sealed": "<base64>"}. A number that JSON does not keep exactly is given as a string. Faults: Invalid
// parameter_invalid, each parameter named.
func Parameters(in map[string]any) (plain map[string]string, sealed map[string][]byte, err error) {
	plain, sealed = make(map[string]string, len(in)), make(map[string][]byte)
	var wrong []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if secret, ok := sealedText(in[name]); ok {
			sealed[name] = secret
			continue
		}
		text, ok := Scalar(in[name])
		if !ok {
			wrong = append(wrong, fault.New(fault.Invalid, "parameter_invalid",
				"a value is a string, a boolean, a whole number below 2^53, or of a secret {\"sealed\": \"<base64>\"}").
				At("body.parameters."+name).Curable("give it as a string"))
		}
		plain[name] = text
	}
	return plain, sealed, fault.All(wrong...)
}

func sealedText(value any) ([]byte, bool) {
	object, ok := value.(map[string]any)
	if !ok || len(object) != 1 {
		return nil, false
	}
	text, ok := object["sealed"].(string)
	if !ok {
		return nil, false
	}
	secret, err := base64.StdEncoding.Strict().DecodeString(text)
	return secret, err == nil && len(secret) > 0
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
