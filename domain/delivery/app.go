package delivery

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"berth/domain/fault"
	"berth/domain/ident"
)

// MaxAppName is the longest name of an app, in bytes.
const MaxAppName = 128

// NewApp makes an app. Invalid, each problem named: invalid_id, text_out_of_bounds.
func NewApp(id, name string, now time.Time) (App, error) {
	err := fault.All(ident.Check("id", id), checkLine("name", name, MaxAppName))
	return App{ID: id, Name: name, CreatedAt: ident.Instant(now)}, err
}

// checkLine accepts 1 to limit bytes of printable text.
func checkLine(field, text string, limit int) *fault.Error {
	if text != "" && len(text) <= limit && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) {
		return nil
	}
	return fault.New(fault.Invalid, "text_out_of_bounds", "must have 1 to %d bytes, without control characters", limit).At(field)
}

func invalid(slug, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, slug, format, args...)
}

// within names faults by where they are: field is put in front of what each names itself.
func within(field string, errs ...*fault.Error) []*fault.Error {
	var out []*fault.Error
	for _, e := range errs {
		switch {
		case e == nil:
		case e.Field == "":
			out = append(out, e.At(field))
		default:
			out = append(out, e.At(field+"."+e.Field))
		}
	}
	return out
}
