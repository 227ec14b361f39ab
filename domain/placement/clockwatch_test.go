package placement

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Only a divergence beyond the bound is a jump, in either direction and however long it took: two clocks that went on
// together, as through a suspend, never show one.
func TestClockWatchFindsJumps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bound := time.Second
		w := ClockWatch{Bound: bound}
		start := Clocks{at(0), time.Hour}
		w.Believe(start)
		passed := time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "passed"))
		gap := time.Duration(rapid.Int64Range(-int64(3*bound), int64(3*bound)).Draw(t, "gap"))
		got, jumped := w.Jump(Clocks{start.Wall.Add(passed + gap), start.Elapsed + passed})
		if got != gap || jumped != (gap.Abs() > bound) {
			t.Fatalf("a gap of %v after %v shows as %v, %v", gap, passed, got, jumped)
		}
	})
}

// Nothing is a jump before a reading was believed, nor after the last one was given up; and what was asked for before
// that is not taken any more.
func TestClockWatchStartsAnew(t *testing.T) {
	t.Parallel()
	w := ClockWatch{Bound: time.Second}
	far := Clocks{at(0).Add(time.Hour), 5 * time.Second}
	if _, jumped := w.Jump(far); jumped || !w.Trusts(0) {
		t.Fatal("a watch that has seen nothing knows of a jump")
	}
	w.Believe(Clocks{at(0), 0})
	if _, jumped := w.Jump(far); !jumped {
		t.Fatal("an hour in five seconds is no jump")
	}
	w.Distrust(5 * time.Second)
	if _, jumped := w.Jump(far); jumped || w.Trusts(5*time.Second-1) || !w.Trusts(5*time.Second) {
		t.Fatal("the jump goes on after it was noticed")
	}
}
