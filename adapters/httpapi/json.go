package httpapi

import (
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// strictJSON reads what the contract allows and nothing else: unknown, duplicate and wrongly cased names, NUL and
// invalid UTF-8 are refused (§14). It writes empty lists as [] and not as null.
func strictJSON() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			return json.MarshalWrite(w, v, json.FormatNilSliceAsNull(false), json.Deterministic(true))
		},
		Unmarshal: func(data []byte, v any) error {
			if !utf8.Valid(data) {
				return malformed("the body is not valid UTF-8")
			}
			if err := json.Unmarshal(data, v, json.RejectUnknownMembers(true)); err != nil {
				return explain(err)
			}
			if generic, ok := v.(*any); ok && holdsNUL(*generic) {
				return errors.New("invalid_text" + slugMark + "a string holds a NUL character")
			}
			return nil
		},
	}
}

func malformed(detail string) error { return errors.New("malformed_json" + slugMark + detail) }

// explain says what is wrong without repeating what the caller sent.
func explain(err error) error {
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return errors.New("duplicate_field" + slugMark + "a field is given twice")
	case errors.Is(err, json.ErrUnknownName):
		return errors.New("unknown_field" + slugMark + "a field is unknown, or not written exactly as the contract has it")
	case errors.As(err, &syntax):
		return malformed("the body is not one JSON value")
	case errors.As(err, &semantic):
		return errors.New("wrong_type" + slugMark + "a value is of another type than the contract says, at " + string(semantic.JSONPointer))
	}
	return malformed("the body can not be read")
}

// holdsNUL looks into every string of a decoded value: no store keeps a NUL, so none comes in.
func holdsNUL(v any) bool {
	switch t := v.(type) {
	case string:
		return strings.IndexByte(t, 0) >= 0
	case []any:
		return slices.ContainsFunc(t, holdsNUL)
	case map[string]any:
		for k, e := range t {
			if holdsNUL(k) || holdsNUL(e) {
				return true
			}
		}
	}
	return false
}
