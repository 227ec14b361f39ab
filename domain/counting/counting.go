// Package counting is how a process counts time that nobody else can count for it (P9): for how long it saw something
// stay as it is, on its own monotonic clock. No two clocks are compared.
package counting

import "time"

// Unchanged counts, for things by key, how long each has borne the mark that it bears now. It begins anew with every
// process; for what bears another mark, also an earlier one; and for everything when what is read is of another history:
// a restored or failed-over database may show a mark that was seen long ago, and that was not the last. The zero value
// has seen nothing.
type Unchanged[K, M comparable] struct {
	origin string
	seen   map[K]sighting[M]
}

type sighting[M comparable] struct {
	mark  M
	since time.Duration
}

// In says of which history is what is read now. Another one than before, also one that came before it, forgets all.
func (u *Unchanged[K, M]) In(origin string) (other bool) {
	if u.origin == origin {
		return false
	}
	u.origin, u.seen = origin, nil
	return true
}

// Observe notes the mark of a thing, read before the monotonic instant now.
func (u *Unchanged[K, M]) Observe(key K, mark M, now time.Duration) {
	if s, ok := u.seen[key]; ok && s.mark == mark {
		return
	}
	if u.seen == nil {
		u.seen = map[K]sighting[M]{}
	}
	u.seen[key] = sighting[M]{mark, now}
}

// For says how long the thing has been seen with this mark; 0 where it was last seen with another, or never.
func (u *Unchanged[K, M]) For(key K, mark M, now time.Duration) time.Duration {
	if s, ok := u.seen[key]; ok && s.mark == mark {
		return now - s.since
	}
	return 0
}

// Forget drops every thing that is not kept.
func (u *Unchanged[K, M]) Forget(kept func(key K) bool) {
	for key := range u.seen {
		if !kept(key) {
			delete(u.seen, key)
		}
	}
}
