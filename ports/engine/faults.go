package engine

import (
	"time"

	"berth/domain/fault"
)

// Away is the fault of a disk that does not let it now.
func Away(err error) error {
	return fault.New(fault.Unavailable, "engine_unavailable", "what the node keeps on its disk can not be had now").
		After(time.Second).Because(err)
}

// Ended is the fault of a call whose context ended first.
func Ended(err error) error {
	return fault.New(fault.Unavailable, "request_ended", "the request ended first").Because(err)
}

// Damaged is the fault of something kept that can not be read.
func Damaged(what string, err error) error {
	return fault.New(fault.Internal, "engine_damaged", "%s can not be read", what).Because(err).
		Curable("let an operator replace the node's storage, and start it on an empty data directory")
}

// Failed is the fault of a defect.
func Failed(err error) error {
	return fault.New(fault.Internal, "engine_failed", "what the node keeps could not be read or written").Because(err)
}
