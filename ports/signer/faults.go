package signer

import (
	"context"

	"berth/domain/fault"
)

// KeyNotFound is the fault for a reference that names no key of this signer. The reference is not repeated in it: it may
// come from anywhere.
func KeyNotFound() *fault.Error {
	return fault.New(fault.NotFound, "key_not_found", "no such signing key")
}

// Unreachable is the fault for a service that did not do what it was asked, because of cause.
func Unreachable(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "signer_unavailable", "the signing service cannot be used").Because(cause)
}

// Ended returns Unreachable where the context has ended, and nil otherwise.
func Ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return Unreachable(err)
	}
	return nil
}

// CheckMessage refuses a message that not every service can sign.
func CheckMessage(message []byte) error {
	if len(message) == 0 || len(message) > MaxMessage {
		return fault.New(fault.Invalid, "message_size", "a message to sign has 1 to %d bytes, this one has %d", MaxMessage,
			len(message))
	}
	return nil
}

// CheckPurpose refuses a purpose that is not one of Purposes.
func CheckPurpose(p Purpose) error {
	if !p.Known() {
		return fault.New(fault.Invalid, "unknown_purpose", "there are no keys of this purpose").At("purpose")
	}
	return nil
}
