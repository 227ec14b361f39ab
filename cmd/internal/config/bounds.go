package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (f *findings) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		last := len(allowed) - 1
		f.add(key, "must be "+strings.Join(allowed[:last], ", ")+" or "+allowed[last], "")
	}
}

// million is the most of anything that is counted.
const million = 1_000_000

func (f *findings) atLeast(key string, n, least int) { f.between(key, n, least, million) }

func (f *findings) between(key string, n, least, most int) {
	if n < least || n > most {
		f.add(key, fmt.Sprintf("must lie between %d and %d", least, most), "")
	}
}

func (f *findings) lasting(key string, d, least, most time.Duration) {
	if d < least || d > most {
		f.add(key, fmt.Sprintf("must lie between %s and %s", least, most), "")
	}
}
