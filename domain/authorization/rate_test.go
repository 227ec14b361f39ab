package authorization_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/authorization"
)

// In no span of time does more happen than the rate gives for it and one second more, whatever is asked for and when; and
// whoever waits for as long as it was told to is let through.
func TestRateIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 5000).Draw(t, "rate")
		var p authorization.Pace
		now := time.Duration(rapid.IntRange(0, 1000).Draw(t, "began")) * time.Second
		var taken []time.Duration
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 300), 1, 300).Draw(t, "steps") {
			now += time.Duration(step) * time.Millisecond
			wait := p.Take(authorization.Rate(rate), now)
			if wait == 0 {
				taken = append(taken, now)
				continue
			}
			later := p
			if again := later.Take(authorization.Rate(rate), now+wait); again != 0 {
				t.Fatalf("told to wait for %v, and then again for %v", wait, again)
			}
		}
		for i, first := range taken {
			for j := i; j < len(taken); j++ {
				if most := float64(rate)*(taken[j]-first).Seconds() + float64(rate) + 1; float64(j-i+1) > most {
					t.Fatalf("%d within %v at %d a second", j-i+1, taken[j]-first, rate)
				}
			}
		}
	})
}

// What rested for a second permits a second's worth at once, and not one more; what did not happen counts as rested.
func TestRateAtOnce(t *testing.T) {
	t.Parallel()
	var p authorization.Pace
	for round := range 3 {
		now := time.Duration(round) * time.Second
		if !p.Rested(now) {
			t.Fatal("a second is no rest")
		}
		for i := range 10 {
			if wait := p.Take(10, now); wait != 0 {
				t.Fatalf("number %d of 10 waits for %v", i+1, wait)
			}
		}
		if wait := p.Take(10, now); wait != 100*time.Millisecond || p.Rested(now) {
			t.Fatalf("the eleventh waits for %v", wait)
		}
	}
}
