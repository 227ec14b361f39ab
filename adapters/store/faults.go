package store

import "berth/domain/fault"

// Broken is a statement that the database refused: a defect.
func Broken(err error) *fault.Error {
	return fault.New(fault.Internal, "store_failed", "the database refused a statement").Because(err)
}

// Twice is a second record of a key that a role did not look for.
func Twice(err error) *fault.Error {
	return fault.New(fault.AlreadyExists, "record_exists", "there is such a record already").Because(err)
}

// Unreadable is a database that waiting does not help.
func Unreadable(why string, err error) *fault.Error {
	return fault.New(fault.Unavailable, "store_unreadable", "%s", why).Because(err)
}
