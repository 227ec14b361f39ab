package counting_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/counting"
)

// What is counted is how long a thing was seen with one mark in one history, and no longer: against a plain retelling,
// under marks and histories that change, come back, and stay.
func TestForIsSinceTheMarkWasFirstSeenInThisHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var u counting.Unchanged[string, int]
		type seen struct {
			mark  int
			since time.Duration
		}
		now, origin, told := time.Duration(0), "", map[string]seen{}
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			now += time.Duration(rapid.IntRange(0, 10).Draw(t, "pause"))
			in := rapid.SampledFrom([]string{"one", "one", "one", "two"}).Draw(t, "history")
			if other := u.In(in); other != (in != origin) {
				t.Fatalf("from %q to %q: other %t", origin, in, other)
			}
			if in != origin {
				origin, told = in, map[string]seen{}
			}
			key, mark := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"), rapid.IntRange(0, 1).Draw(t, "mark")
			if s, ok := told[key]; !ok || s.mark != mark {
				if got := u.For(key, mark, now); got != 0 {
					t.Fatalf("%s was counted as %d for %d before it was seen so", key, mark, got)
				}
				told[key] = seen{mark, now}
			}
			u.Observe(key, mark, now)
			for key, s := range told {
				if got := u.For(key, s.mark, now); got != now-s.since {
					t.Fatalf("%s is counted for %d, want %d", key, got, now-s.since)
				}
				if got := u.For(key, 1-s.mark, now); got != 0 {
					t.Fatalf("%s is counted under another mark for %d", key, got)
				}
			}
		}
	})
}

// What is not kept is forgotten; the rest counts on.
func TestForget(t *testing.T) {
	t.Parallel()
	var u counting.Unchanged[string, int]
	u.Forget(func(string) bool { return false }) // nothing was seen yet
	u.Observe("a", 1, 1)
	u.Observe("b", 1, 1)
	u.Forget(func(key string) bool { return key == "b" })
	if a, b := u.For("a", 1, 9), u.For("b", 1, 9); a != 0 || b != 8 {
		t.Fatalf("a counts %d, b %d", a, b)
	}
}
