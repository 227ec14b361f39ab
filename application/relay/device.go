package relay

import "time"

// Device is what a verified token says of who holds it.
type Device struct {
	Tenant    string
	Principal string
	TokenID   string
	Key       string // id of the key that signed the token
	ExpiresAt time.Time
}

// Line is a device's connection, as its session has it. Both may be called on any goroutine, and return at once.
type Line interface {
	// Wake says that there is something to take from the session.
	Wake()
	// End has the connection closed, once.
	End(End)
}

// End is why a session ends.
type End struct {
	Reason Reason
	Err    error         // for the log, and where it is a fault its slug for the device
	Retry  time.Duration // how long the device is to wait before it comes back; drawn for each
}

// Reason is why a session ends, as API.md and docs/connect.md spell it.
type Reason string

// The reasons.
const (
	Moved       Reason = "moved"
	Revoked     Reason = "revoked"
	Draining    Reason = "draining"
	Shutdown    Reason = "shutdown"
	Expired     Reason = "expired"
	Suspended   Reason = "suspended"
	Unavailable Reason = "unavailable"
	Overload    Reason = "overload"
)
