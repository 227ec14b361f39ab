package identity

import (
	"time"

	"berth/domain/fault"
)

const maxNote = 512 // names, reasons and origins, in bytes

func unauthenticated(slug, detail string) *fault.Error {
	return fault.New(fault.Unauthenticated, slug, "%s", detail)
}

func forbidden(slug, detail string) *fault.Error {
	return fault.New(fault.Forbidden, slug, "%s", detail)
}

func unless(ok bool, slug, detail, field string) *fault.Error {
	if ok {
		return nil
	}
	return fault.New(fault.Invalid, slug, "%s", detail).At(field)
}

func checkText(field, text string, most int) *fault.Error {
	if text != "" && len(text) <= most {
		return nil
	}
	return fault.New(fault.Invalid, "text_out_of_bounds", "must have 1 to %d bytes", most).At(field)
}

// checkPeriod refuses a validity that has no beginning, no end, an end before its beginning, or one that is over: a
// zero time means nothing, least of all "never".
func checkPeriod(field string, from, until, now time.Time) *fault.Error {
	if from.IsZero() || !from.Before(until) {
		return fault.New(fault.Invalid, "validity_invalid", "a validity has a beginning and a later end").At(field)
	}
	if !now.Before(until) {
		return fault.New(fault.Invalid, "validity_invalid", "the validity has already ended").At(field)
	}
	return nil
}

func lowerAlphanumeric(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// validToken accepts an id that Berth gave: 1 to 64 of a-z, 0-9, '-' and '_', with a letter or digit at either end.
func validToken(id string) bool {
	if len(id) == 0 || len(id) > 64 || !lowerAlphanumeric(id[0]) || !lowerAlphanumeric(id[len(id)-1]) {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !lowerAlphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
