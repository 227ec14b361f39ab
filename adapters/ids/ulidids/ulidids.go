// Package ulidids gives ULIDs and secrets from the machine's cryptographic randomness.
package ulidids

import (
	"crypto/rand"
	"strings"
	"sync"

	"github.com/oklog/ulid/v2"

	"berth/ports/clock"
	"berth/ports/ids"
)

// Source is an ids.Source. Use New.
type Source struct {
	clock clock.Clock

	mu      sync.Mutex
	last    uint64 // the greatest millisecond given so far
	entropy *ulid.MonotonicEntropy
}

var _ ids.Source = (*Source)(nil)

// New returns a source that stamps its ids by the clock.
func New(c clock.Clock) *Source {
	return &Source{clock: c, entropy: ulid.Monotonic(rand.Reader, 0)}
}

// New returns prefix, an underscore and a lower-case ULID that sorts after each one given before, also when the wall
// clock was set back: it then stays at the latest millisecond it has seen.
func (s *Source) New(prefix string) string {
	return prefix + "_" + strings.ToLower(s.next().String())
}

func (s *Source) next() ulid.ULID {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := max(0, s.clock.Now().UnixMilli()) // a wall clock before 1970 has no ULID of its own
	s.last = max(s.last, uint64(now))
	for {
		id, err := ulid.New(s.last, s.entropy)
		if err == nil {
			return id
		}
		// crypto/rand does not fail, so the 80 bits of this millisecond ran over: the next one has fresh ones.
		s.last++
	}
}

// Secret returns n bytes of cryptographic randomness.
func (*Source) Secret(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // documented never to fail: it ends the process instead
	return b
}
