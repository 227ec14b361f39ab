package ca

import (
	"context"
	"time"

	"berth/domain/fault"
)

// Retry is when it makes sense to ask an authority again that was away.
const Retry = 5 * time.Second

// Away is the fault of an authority that did not do what it was asked, because of cause.
func Away(cause error) *fault.Error {
	f := fault.New(fault.Unavailable, "ca_unavailable", "the certificate authority cannot be used").Because(cause)
	f.RetryAfter = Retry
	return f
}

// NotReady is the fault of a control plane that believes no root yet.
func NotReady() *fault.Error {
	return fault.New(fault.Unavailable, "ca_not_ready", "no root is in force yet").After(Retry)
}

// Absent is the fault of a control plane without an authority of its own.
func Absent() *fault.Error {
	return fault.New(fault.Unavailable, "ca_absent", "no certificates are signed here: this control plane has no authority of its own").
		Curable("have a CA outside sign, and an operator admit its certificate")
}

// Ended returns Away where the context has ended, and nil otherwise.
func Ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return Away(err)
	}
	return nil
}

// Refused is the fault of an order that no certificate can come of.
func Refused(detail string) *fault.Error {
	return fault.New(fault.Invalid, "ca_order_refused", "the certificate cannot be signed: %s", detail)
}
