package fleet

import "berth/domain/fault"

func missing(err error) bool { return fault.KindOf(err) == fault.NotFound }

// at names the field of the request that a miss is about.
func at(err error, slug, field string) error {
	if e, ok := fault.As(err); ok && e.Slug == slug {
		return e.At(field)
	}
	return err
}
