package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"reflect"

	port "berth/ports/store"
)

// document writes parts of one record as JSON, and keeps the first fault.
type document struct{ err error }

// writeList encodes a list, always in the same way; as nothing where it is empty. JSON would hide text that can not be
// held, which is refused before.
func writeList[V any](d *document, list []V) string {
	if len(list) == 0 || d.err != nil {
		return ""
	}
	if d.err = checkTexts(reflect.ValueOf(list)); d.err != nil {
		return ""
	}
	text, err := json.Marshal(list)
	d.err = err
	return string(text)
}

// readList decodes what writeList wrote, and refuses what has more in it: a later program's, which this one would lose.
func readList[V any](d *document, text string) (list []V) {
	if text == "" || d.err != nil {
		return nil
	}
	from := json.NewDecoder(bytes.NewReader([]byte(text)))
	from.DisallowUnknownFields()
	if d.err = from.Decode(&list); d.err != nil {
		return nil
	}
	if _, err := from.Token(); !errors.Is(err, io.EOF) {
		d.err = errTrailing
	}
	return list
}

var errTrailing = errors.New("there is something after a list")

// checkTexts refuses text within v that can not be held.
func checkTexts(v reflect.Value) error {
	if v.Kind() == reflect.String {
		return port.CheckText(v.String())
	}
	for part := range within(v) {
		if err := checkTexts(part); err != nil {
			return err
		}
	}
	return nil
}

// within yields the fields of a structure, the items of a list, and the keys and values of a map.
func within(v reflect.Value) iter.Seq[reflect.Value] {
	return func(yield func(reflect.Value) bool) {
		switch kind := v.Kind(); {
		case kind == reflect.Struct && v.Type() != reflect.TypeFor[instant]():
			for i := 0; i < v.NumField() && yield(v.Field(i)); i++ {
				continue
			}
		case kind == reflect.Slice:
			for i := 0; i < v.Len() && yield(v.Index(i)); i++ {
				continue
			}
		case kind == reflect.Map:
			for it := v.MapRange(); it.Next() && yield(it.Key()) && yield(it.Value()); {
				continue
			}
		}
	}
}

// held is bytes for a column that takes no NULL.
func held(b []byte) []byte { return append([]byte{}, b...) }
