package upstream

import "fmt"

// Fate is what became of a request that has no answer.
type Fate int

// The fates.
const (
	NotSent   Fate = iota // no byte of it left: it may be sent again
	Late                  // the answer did not come in time; it may have been done
	Broken                // the connection ended before the answer did; it may have been done
	Malformed             // what came is no answer that can be passed on; it may have been done
)

// Error says why a request has no answer, and whether it may have reached the control plane.
type Error struct {
	Fate Fate
	Err  error

	final bool // no replica can be reached: another attempt at once is no use
}

// Error names fate and cause.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %v", [...]string{"not sent", "no answer in time", "broken off", "malformed answer"}[e.Fate], e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
