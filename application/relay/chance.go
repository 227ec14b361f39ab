package relay

import (
	"encoding/binary"
	"time"

	"berth/domain/fault"
	"berth/ports/ids"
)

// chance gives each node moments of its own, so that no herd of them comes at once.
type chance struct{ ids.Source }

// upTo is a time from 0 up to, and without, d.
func (c chance) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	const bits = 53
	n := binary.BigEndian.Uint64(c.Secret(8)) >> (64 - bits)
	return time.Duration(float64(n) / (1 << bits) * float64(d))
}

// within is d shortened by up to a fifth: jitter goes downwards only (A4).
func (c chance) within(d time.Duration) time.Duration { return d - c.upTo(d/5) }

// backoff is how long to wait before the next try. It grows from try to try; a success begins anew with its zero value.
type backoff struct{ tries int }

const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// next is the wait after a failure: at random between half and all of a time that doubles, at least what the answer
// asked for, and at most the most.
func (b *backoff) next(c chance, after error, most time.Duration) time.Duration {
	d := firstRetry << min(b.tries, 12)
	b.tries++
	d = min(d, lastRetry, most)
	d -= c.upTo(d / 2)
	if f, ok := fault.As(after); ok && f.RetryAfter > 0 {
		d = max(d, min(f.RetryAfter, time.Minute)+c.upTo(f.RetryAfter/2))
	}
	return d
}
