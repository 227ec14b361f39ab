package entitlement

import (
	"time"
	"unicode"
	"unicode/utf8"

	"berth/domain/fault"
	"berth/domain/ident"
)

// NewCustomer makes a customer; the name is for people, 1 to 100 printable characters. Faults: Invalid invalid_id,
// invalid_name.
func NewCustomer(id, name string, now time.Time) (Customer, error) {
	err := fault.All(ident.Check("id", id),
		must(printable(name), "invalid_name", "name", "must be 1 to 100 printable characters"))
	if err != nil {
		return Customer{}, err
	}
	return Customer{ID: id, Name: name, CreatedAt: ident.Instant(now)}, nil
}

func printable(name string) bool {
	const most = 100
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > most {
		return false
	}
	for _, c := range name {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}

func must(ok bool, slug, field, detail string) *fault.Error {
	if ok {
		return nil
	}
	return fault.New(fault.Invalid, slug, "%s", detail).At(field)
}
