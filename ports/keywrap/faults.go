package keywrap

import (
	"context"

	"berth/domain/fault"
)

// Unreachable is the fault for a keeper that did not do what it was asked, because of cause.
func Unreachable(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "keywrap_unavailable", "the keeper of the wrapping key cannot be used").Because(cause)
}

// Invalid is the fault for what was not made by Wrap with this binding. It says no more than that.
func Invalid() *fault.Error {
	return fault.New(fault.Invalid, "wrapped_invalid", "this is no secret that was wrapped here for this")
}

// Check refuses a call that no keeper can serve: an ended context, a binding that says nothing, a secret out of bounds.
func Check(ctx context.Context, binding string, size int) error {
	if err := ctx.Err(); err != nil {
		return Unreachable(err)
	}
	if binding == "" {
		return fault.New(fault.Internal, "wrap_binding", "a secret was to be wrapped for nothing in particular")
	}
	if size > MaxSecret {
		return fault.New(fault.Invalid, "secret_size", "a secret has at most %d bytes, this one has %d", MaxSecret, size)
	}
	return nil
}
