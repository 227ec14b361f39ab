// Package systemclock is the machine's own clock.
//
// Elapsed asks the operating system and not Go's monotonic clock, which stands still while the machine is suspended.
// For that reason it does not follow the virtual time of testing/synctest, while Now and timers do; tests that need a
// clock under their control use clocktest.
package systemclock

import (
	"fmt"
	"time"

	"berth/ports/clock"
)

// Clock is a clock.Clock. Use New or Shifted.
type Clock struct{ offset time.Duration }

var _ clock.Clock = (*Clock)(nil)

// New returns the machine's clock. It fails where the machine has no clock that Elapsed can be read from, so that no
// lease is ever counted on a clock that is not there.
func New() (*Clock, error) { return Shifted(0) }

// Shifted returns the machine's clock with its wall clock set ahead, or back where the offset is negative, so that tests
// see what passes with hours. Elapsed and timers run as ever. It fails as New does.
func Shifted(offset time.Duration) (*Clock, error) {
	if _, err := elapsed(); err != nil {
		return nil, fmt.Errorf("read the clock that runs on through suspension: %w", err)
	}
	return &Clock{offset}, nil
}

// Now returns the wall clock's time in UTC, shifted.
func (c *Clock) Now() time.Time { return time.Now().Add(c.offset).UTC() }

// Elapsed returns the time since boot, suspension included; on systems other than Linux see elapsed_other.go.
func (*Clock) Elapsed() time.Duration {
	d, err := elapsed()
	if err != nil {
		// New has read this clock; the call has no other argument that could fail later.
		panic(fmt.Sprintf("systemclock: %v", err))
	}
	return d
}

// NewTimer returns a timer of the Go runtime.
func (*Clock) NewTimer(d time.Duration) clock.Timer { return timer{time.NewTimer(d)} }

type timer struct{ t *time.Timer }

func (t timer) C() <-chan time.Time        { return t.t.C }
func (t timer) Stop() bool                 { return t.t.Stop() }
func (t timer) Reset(d time.Duration) bool { return t.t.Reset(d) }
