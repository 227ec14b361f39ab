package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// OneOf wants one of at least two texts.
func (f *Findings) OneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		last := len(allowed) - 1
		f.Add(key, "must be "+strings.Join(allowed[:last], ", ")+" or "+allowed[last], "")
	}
}

// million is the most of anything that is counted.
const million = 1_000_000

// AtLeast wants a count of at least so many, and of a million at most.
func (f *Findings) AtLeast(key string, n, least int) { f.Between(key, n, least, million) }

// Between wants a number within bounds, both included.
func (f *Findings) Between(key string, n, least, most int) {
	if n < least || n > most {
		f.Add(key, fmt.Sprintf("must lie between %d and %d", least, most), "")
	}
}

// Lasting wants a duration within bounds, both included.
func (f *Findings) Lasting(key string, d, least, most time.Duration) {
	if d < least || d > most {
		f.Add(key, fmt.Sprintf("must lie between %s and %s", least, most), "")
	}
}

// Log wants what Logger understands.
func (f *Findings) Log(levelKey, level, formatKey, format string) {
	f.OneOf(levelKey, level, "debug", "info", "warn", "error")
	f.OneOf(formatKey, format, "text", "json")
}

// longestShift is how far a clock is shifted at most, either way: past the end of everything that ends.
const longestShift = 10 * 365 * 24 * time.Hour

// ClockOffset judges by how much the wall clock is shifted, which is for tests.
func (f *Findings) ClockOffset(key string, d time.Duration, production bool) {
	f.Lasting(key, d, -longestShift, longestShift)
	if production && d != 0 {
		f.Add(key, "is for tests, and this is production", "leave it out, and keep the machine's clock right")
	}
}
