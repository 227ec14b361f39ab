package delivery

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"berth/domain/fault"
	"berth/domain/ident"
)

// applied is the order in which kinds are applied: what others refer to comes first.
//
//nolint:gochecknoglobals // an immutable table
var applied = []string{"Secret", "ConfigMap", "Service", "Deployment", "Ingress"}

// Encode writes objects in their one form: {"objects":[…]} in JSON, in the order in which they are applied, then by name,
// with sorted keys and without nulls. Fault: Invalid manifest_too_large.
func Encode(docs []Document) ([]byte, error) {
	content := struct {
		Objects []any `json:"objects"`
	}{[]any{}}
	for _, d := range slices.SortedStableFunc(slices.Values(docs), byApplying) {
		content.Objects = append(content.Objects, bare(d.Object))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		return nil, invalid("manifest_invalid", "an object holds what JSON does not have").Because(err)
	}
	if out.Len() > MaxRendered {
		return nil, invalid("manifest_too_large", "the objects of an app have at most %d bytes, and these have %d", MaxRendered, out.Len())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func byApplying(a, b Document) int {
	return cmp.Or(
		cmp.Compare(uint(slices.Index(applied, a.kind())), uint(slices.Index(applied, b.kind()))), // those that are not there last
		cmp.Compare(a.kind(), b.kind()), cmp.Compare(a.name(), b.name()),
	)
}

// bare is a value without the members that are null.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if value != nil {
				out[key] = bare(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = bare(value)
		}
		return out
	case float64: // whole numbers have one form, whichever way they were written
		if v == math.Trunc(v) && v >= -ident.MaxCounter && v <= ident.MaxCounter {
			return int64(v)
		}
	}
	return v
}

// Decode reads what Encode wrote, and nothing else. Fault: Invalid manifest_invalid, manifest_too_large.
func Decode(data []byte) ([]Document, error) {
	if len(data) > MaxRendered {
		return nil, invalid("manifest_too_large", "the objects of an app have at most %d bytes", MaxRendered)
	}
	var content struct{ Objects []map[string]any }
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return nil, undecodable(err)
	}
	docs := make([]Document, 0, len(content.Objects))
	for i, o := range content.Objects {
		object, err := numbered(o)
		if err != nil {
			return nil, undecodable(err)
		}
		m, _ := object.(map[string]any)
		docs = append(docs, Document{Origin: "objects/" + strconv.Itoa(i), Object: m})
	}
	again, err := Encode(docs)
	if err != nil || !bytes.Equal(again, data) {
		return nil, undecodable(err)
	}
	return docs, nil
}

func undecodable(cause error) *fault.Error {
	return invalid("manifest_invalid", "these are no objects as Berth writes them").Because(cause)
}

// numbered turns a decoded value's numbers into int64 where they are whole, and float64 otherwise.
func numbered(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if v[key], err = numbered(value); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, value := range v {
			if v[i], err = numbered(value); err != nil {
				return nil, err
			}
		}
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			return v.Int64()
		}
		return v.Float64()
	}
	return v, nil
}
