package ulidids_test

import (
	"bytes"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"berth/adapters/ids/ulidids"
	"berth/ports/clock/clocktest"
)

func source() (*ulidids.Source, *clocktest.Fake) {
	c := clocktest.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	return ulidids.New(c), c
}

// An id is the prefix, an underscore and a lower-case ULID.
func TestForm(t *testing.T) {
	t.Parallel()
	s, _ := source()
	form := regexp.MustCompile(`^mig_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
	for range 1000 {
		if id := s.New("mig"); !form.MatchString(id) {
			t.Fatalf("%q is no id", id)
		}
	}
}

// Ids sort in the order in which they were given: within a millisecond, across milliseconds, and after the wall clock
// was set back an hour.
func TestSortsAsGiven(t *testing.T) {
	t.Parallel()
	s, c := source()
	var given []string
	for range 100 {
		for range 50 {
			given = append(given, s.New("mig"))
		}
		c.Advance(time.Millisecond)
	}
	c.Jump(-time.Hour)
	given = append(given, s.New("mig"), s.New("mig"))
	if !slices.IsSorted(given) || len(slices.Compact(slices.Clone(given))) != len(given) {
		t.Fatal("ids are out of order or given twice")
	}
}

// A wall clock that was never set still gives ids.
func TestClockBefore1970(t *testing.T) {
	t.Parallel()
	s := ulidids.New(clocktest.New(time.Time{}))
	if a, b := s.New("x"), s.New("x"); a >= b {
		t.Fatalf("%q, %q", a, b)
	}
}

// No two callers are given the same id at once.
func TestConcurrentCallersGetDistinctIDs(t *testing.T) {
	t.Parallel()
	s, _ := source()
	const callers, each = 8, 500
	got := make([][]string, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				got[i] = append(got[i], s.New("x"))
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, id := range slices.Concat(got...) {
		seen[id] = true
	}
	if len(seen) != callers*each {
		t.Fatalf("%d distinct ids of %d", len(seen), callers*each)
	}
}

// Two sources at the same millisecond give different ids: uniqueness does not rest on the clock.
func TestSourcesDoNotCollide(t *testing.T) {
	t.Parallel()
	a, _ := source()
	b, _ := source()
	if a.New("x") == b.New("x") {
		t.Fatal("two sources gave one id")
	}
}

// Secrets have the length asked for and do not repeat.
func TestSecret(t *testing.T) {
	t.Parallel()
	s, _ := source()
	if a, b := s.Secret(16), s.Secret(16); len(a) != 16 || bytes.Equal(a, b) {
		t.Fatalf("secrets %x and %x", a, b)
	}
}

func BenchmarkNew(b *testing.B) {
	s, _ := source()
	for b.Loop() {
		s.New("mig")
	}
}
