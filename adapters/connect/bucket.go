package connect

import "time"

// bucket is a token bucket (of one goroutine).
type bucket struct {
	tokens float64
	at     time.Time
}

func (b *bucket) fill(tokens float64) { b.tokens = tokens }

// take takes a token, and says how long to wait for it: 0 where there was one.
func (b *bucket) take(now time.Time, rate, burst float64) time.Duration {
	if !b.at.IsZero() {
		b.tokens = min(burst, b.tokens+rate*now.Sub(b.at).Seconds())
	}
	b.at = now
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / rate * float64(time.Second))
}
