// Package ident holds what every name and counter of the outer contract has in common (API.md).
package ident

import (
	"time"

	"berth/domain/fault"
)

// MaxCounter is the largest generation, revision, sequence or version: 2^53-1, so that each survives a JSON number.
const MaxCounter = 1<<53 - 1

// MaxName is the longest id a caller may give, in bytes.
const MaxName = 63

// Check accepts ids of the form ^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$ and refuses any other as Invalid invalid_id.
func Check(field, id string) *fault.Error {
	if valid(id) {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_id",
		"an id is 1 to %d of a-z, 0-9 and '-', and neither starts nor ends with '-'", MaxName).At(field)
}

func valid(id string) bool {
	if len(id) == 0 || len(id) > MaxName || id[0] == '-' || id[len(id)-1] == '-' {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// Counter accepts 0 to MaxCounter and refuses any other value as Invalid out_of_range.
func Counter(field string, n int64) *fault.Error {
	if n >= 0 && n <= MaxCounter {
		return nil
	}
	return fault.New(fault.Invalid, "out_of_range", "must lie between 0 and 2^53-1").At(field)
}

// Instant is how Berth keeps a time: UTC, truncated to microseconds (the finest that every store keeps), without a
// monotonic reading, so that what is hashed is what is read back.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond).Round(0) }
