package placement

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A count runs from when this replica first saw the row as it now is, and no shorter (P9): against a plain retelling of
// that sentence, under rows that go forward, back, and stay.
func TestRanOutIsCountOutSinceTheRowWasFirstSeenAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		terms := DefaultLeaseTerms()
		w, now := NewWatch(terms), time.Duration(0)
		seen, since := Mark{}, time.Duration(-1)
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			now += time.Duration(rapid.Int64Range(0, int64(15*time.Second)).Draw(t, "pause"))
			mark := seen
			if rapid.IntRange(0, 3).Draw(t, "new row") == 0 {
				mark = Mark{Generation: rapid.Int64Range(0, 2).Draw(t, "generation"), Sequence: rapid.Int64Range(0, 2).Draw(t, "sequence")}
			}
			if since < 0 || mark != seen {
				if w.RanOut("a", mark, now) {
					t.Fatalf("a row never seen as %v ran out", mark)
				}
				seen, since = mark, now
			}
			w.Observe("a", mark, now)
			if got, want := w.RanOut("a", mark, now), now-since > terms.CountOut(); got != want {
				t.Fatalf("at %s, seen since %s: ran out %t, want %t", now, since, got, want)
			}
			if w.RanOut("b", mark, now) || w.RanOut("a", Mark{Generation: mark.Generation, Sequence: mark.Sequence + 1}, now) {
				t.Fatal("another node's row, or another row of this node, ran out")
			}
		}
	})
}

// The moment itself is not past: it takes longer than CountOut.
func TestRanOutIsStrict(t *testing.T) {
	t.Parallel()
	w, end := NewWatch(DefaultLeaseTerms()), 21500*time.Millisecond
	w.Observe("a", Mark{Generation: 1, Sequence: 1}, 0)
	if w.RanOut("a", Mark{Generation: 1, Sequence: 1}, end) || !w.RanOut("a", Mark{Generation: 1, Sequence: 1}, end+1) {
		t.Fatalf("15 s, 5 s and 10 %% are not %s", end)
	}
}

// A database that came back from an older state shows an older row: the count starts anew, also when the row then
// becomes what it was.
func TestARowThatGoesBackRestartsTheCount(t *testing.T) {
	t.Parallel()
	w, later := NewWatch(DefaultLeaseTerms()), Mark{Generation: 2, Sequence: 9}
	w.Observe("a", later, 0)
	w.Observe("a", Mark{Generation: 2, Sequence: 3}, 20*time.Second)
	w.Observe("a", later, 21*time.Second)
	if w.RanOut("a", later, 40*time.Second) {
		t.Fatal("the count went on")
	}
}

// Another history starts every count anew, also where its rows are those that were counted, and where the replica comes
// back to a history that it counted in before (P9).
func TestAnotherHistoryRestartsEveryCount(t *testing.T) {
	t.Parallel()
	w, mark := NewWatch(DefaultLeaseTerms()), Mark{Generation: 1, Sequence: 9}
	for i, origin := range []string{"7/1", "7/2", "7/1"} {
		now := time.Duration(i) * time.Hour
		w.In(origin)
		if w.RanOut("a", mark, now) {
			t.Fatalf("in history %s the count of another went on", origin)
		}
		w.Observe("a", mark, now)
		w.In(origin)
		if now += time.Minute; !w.RanOut("a", mark, now) {
			t.Fatalf("in history %s the count does not end", origin)
		}
	}
}

// Each replica counts by itself: one that came later does not inherit what another counted.
func TestReplicasCountByThemselves(t *testing.T) {
	t.Parallel()
	early, late := NewWatch(DefaultLeaseTerms()), NewWatch(DefaultLeaseTerms())
	early.Observe("a", Mark{Generation: 1, Sequence: 1}, 0)
	late.Observe("a", Mark{Generation: 1, Sequence: 1}, 20*time.Second)
	if now := 25 * time.Second; !early.RanOut("a", Mark{Generation: 1, Sequence: 1}, now) || late.RanOut("a", Mark{Generation: 1, Sequence: 1}, now) {
		t.Fatal("the counts are not their own")
	}
}

// What is not kept is forgotten, and counts anew when it comes back.
func TestForgottenNodesCountAnew(t *testing.T) {
	t.Parallel()
	w := NewWatch(DefaultLeaseTerms())
	w.Observe("a", Mark{Generation: 1, Sequence: 1}, 0)
	w.Observe("b", Mark{Generation: 1, Sequence: 1}, 0)
	w.Forget(func(node string) bool { return node == "b" })
	if w.RanOut("a", Mark{Generation: 1, Sequence: 1}, time.Hour) || !w.RanOut("b", Mark{Generation: 1, Sequence: 1}, time.Hour) {
		t.Fatalf("it remembers %+v", w)
	}
}

// Terms that pass keep the control plane's count longer than the node's, by clocks that differ as much as they allow.
func TestAcceptedTermsOutlastTheNode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		terms := LeaseTerms{
			Duration:     time.Duration(rapid.Int64Range(-1, int64(11*time.Minute)).Draw(t, "duration")),
			Margin:       time.Duration(rapid.Int64Range(-1, int64(11*time.Minute)).Draw(t, "margin")),
			DriftPercent: rapid.Int64Range(-1, 101).Draw(t, "drift"),
		}
		if terms.Check() != nil {
			return
		}
		slowest := terms.Duration * time.Duration(100+terms.DriftPercent) / 100
		if terms.CountOut() < slowest+time.Second {
			t.Fatalf("%+v counts %s, a node may hold it for %s", terms, terms.CountOut(), slowest)
		}
	})
}

func TestUnsafeTermsAreRefused(t *testing.T) {
	t.Parallel()
	must(t, DefaultLeaseTerms().Check())
	for name, change := range map[string]func(*LeaseTerms){
		"no duration":    func(l *LeaseTerms) { l.Duration = 0 },
		"negative":       func(l *LeaseTerms) { l.Duration = -time.Second },
		"below a second": func(l *LeaseTerms) { l.Duration = time.Second - 1 },
		"too long":       func(l *LeaseTerms) { l.Duration, l.Margin = 10*time.Minute+1, 2*time.Minute },
		"no margin":      func(l *LeaseTerms) { l.Margin = 0 },
		"thin margin":    func(l *LeaseTerms) { l.Duration, l.Margin = 30*time.Second, 2*time.Second },
		"huge margin":    func(l *LeaseTerms) { l.Margin = 11 * time.Minute },
		"no drift":       func(l *LeaseTerms) { l.DriftPercent = 0 },
		"wild drift":     func(l *LeaseTerms) { l.DriftPercent = 101 },
	} {
		terms := DefaultLeaseTerms()
		change(&terms)
		if !isSlug(terms.Check(), "lease_terms_unsafe") {
			t.Errorf("%s: %+v passed", name, terms)
		}
	}
}

// A lease is counted for as long as it was granted, by a replica that grants less, too: one that was configured
// otherwise, or started anew with another configuration. A shorter grant may not have reached the node, so that it
// counts only once the longer one ran out.
func TestALongerGrantIsCountedByAll(t *testing.T) {
	t.Parallel()
	short := LeaseTerms{Duration: 3 * time.Second, Margin: time.Second, DriftPercent: 10}
	w, l := NewWatch(short), NewLease("a")
	g := registered(t, l, "one")
	grant := func(sequence int64, lasts time.Duration) {
		b := beat(g, sequence)
		b.Grants = lasts
		must(t, l.Beat(b, at(1)))
	}
	grant(1, 15*time.Second)
	grant(2, 3*time.Second)
	w.Observe("a", l.Mark(), 0)
	if end := 17500 * time.Millisecond; w.RanOut("a", l.Mark(), end) || !w.RanOut("a", l.Mark(), end+1) {
		t.Fatalf("a lease of 15 s, by a margin of 1 s and 10 %%, does not end after %s", end)
	}
	must(t, l.Lapse(l.Mark()))
	grant(3, 3*time.Second)
	w.Observe("a", l.Mark(), time.Minute)
	if end := time.Minute + 4300*time.Millisecond; w.RanOut("a", l.Mark(), end) || !w.RanOut("a", l.Mark(), end+1) {
		t.Fatal("the shorter lease is not counted once the longer one ran out")
	}
}
