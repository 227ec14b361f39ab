package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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
	switch v.Kind() {
	case reflect.String:
		return port.CheckText(v.String())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[instant]() {
			return nil
		}
		for _, field := range v.Fields() {
			if err := checkTexts(field); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkTexts(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := errors.Join(checkTexts(it.Key()), checkTexts(it.Value())); err != nil {
				return err
			}
		}
	}
	return nil
}

// held is bytes for a column that takes no NULL.
func held(b []byte) []byte { return append([]byte{}, b...) }
