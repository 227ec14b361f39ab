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

// Missing is the fault of a tenant of which there is no copy to open.
func Missing(tenant string) error {
	return fault.New(fault.Unavailable, "copy_missing", "there is no copy of %s on this node", tenant)
}

// Fenced is the fault of a write that the copy does not let in (P3, P16).
func Fenced() error {
	return fault.New(fault.Unavailable, "copy_fenced", "the copy takes no writes of this generation").After(time.Second)
}

// Closed is the fault of an Engine that was closed meanwhile.
func Closed() error {
	return fault.New(fault.Unavailable, "engine_closed", "the tenant's Engine is closed").After(time.Second)
}

// Busy is the fault of a write before which too much waits.
func Busy() error {
	return fault.New(fault.Exhausted, "engine_busy", "too much waits for the tenant's Engine").After(time.Second)
}

// Full is the fault of a disk that has no room for a write.
func Full(err error) error {
	return fault.New(fault.Exhausted, "disk_full", "the node's disk has no room for it").After(10 * time.Second).Because(err)
}

// DamagedAttachment is the fault of an attachment whose content is not there, or not all of it: no other concerns it, nor a
// message.
func DamagedAttachment(err error) error {
	return fault.New(fault.Internal, attachmentDamaged, "the content of the attachment can not be read").Because(err).
		Curable("let an operator put the file back")
}

const attachmentDamaged = "attachment_damaged"

// Broken says whether an error of an Engine means that it can not be used as it is: a defect, or damage that is not one
// attachment's alone. What came from a reader that the Engine was given is no fault, and breaks nothing.
func Broken(err error) bool {
	f, ok := fault.As(err)
	return ok && f.Kind == fault.Internal && f.Slug != attachmentDamaged
}

// NoAttachment is the fault of an attachment that is not there.
func NoAttachment() error {
	return fault.New(fault.NotFound, "attachment_missing", "there is no such attachment")
}
