package leadership

import (
	"slices"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/domain/ident"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
}

func refused(t *testing.T, err error, slug string) {
	t.Helper()
	if err == nil || fault.SlugOf(err) != slug {
		t.Fatalf("got %v, want %s", err, slug)
	}
}

// The machine, written down once more so that a changed edge is seen. One line is "from, event, to".
const machine = `
vacant, claim, held
held, renew, held
held, resign, vacant
held, claim, held`

func lines() (out []Edge) {
	for line := range strings.Lines(strings.TrimSpace(machine)) {
		f := strings.Split(strings.TrimSpace(line), ", ")
		out = append(out, Edge{f[0], f[1], f[2]})
	}
	return out
}

func TestTermStepsExactlyAlongItsTable(t *testing.T) {
	t.Parallel()
	if !slices.Equal(Diagram(), lines()) {
		t.Fatalf("the diagram is %v", Diagram())
	}
	for from, holder := range map[string]string{"vacant": "", "held": "a"} {
		for event, do := range map[string]func(*Term) error{
			"claim":  func(l *Term) error { return l.Claim("b", l.Mark()) },
			"renew":  func(l *Term) error { return l.Renew(holder, 3) },
			"resign": func(l *Term) error { return l.Resign(holder, 3) },
		} {
			before := Record{Duty: "sweeps", Holder: holder, Number: 3, Beat: 9}
			l := Restore(before)
			err, to := do(l), stateNames[l.state()]
			i := slices.IndexFunc(lines(), func(e Edge) bool { return e.From == from && e.Event == event })
			switch {
			case i >= 0 && (err != nil || to != lines()[i].To):
				t.Errorf("%s in %s: got %s and %v, want %s", event, from, to, err, lines()[i].To)
			case i < 0 && (fault.KindOf(err) != fault.Conflict || l.Record() != before):
				t.Errorf("%s in %s is no edge: got %+v and %v", event, from, l.Record(), err)
			}
		}
	}
}

// A claim is a compare-and-set on what was counted out: a renewal, a resignation or another's claim in between wins.
// The next term begins at beat 0 and has the next number.
func TestClaimTakesOnlyWhatItCounted(t *testing.T) {
	t.Parallel()
	l := New("sweeps")
	vacant := l.Mark()
	must(t, l.Claim("a", vacant))
	refused(t, l.Claim("b", vacant), "leadership_renewed")
	counted := l.Mark()
	must(t, l.Renew("a", 1))
	refused(t, l.Claim("b", counted), "leadership_renewed")
	counted = l.Mark()
	must(t, l.Resign("a", 1))
	refused(t, l.Claim("b", counted), "leadership_renewed")
	must(t, l.Claim("b", l.Mark()))
	if want := (Record{Duty: "sweeps", Holder: "b", Number: 2}); l.Record() != want {
		t.Fatalf("got %+v, want %+v", l.Record(), want)
	}
}

// Only the holder renews and resigns, and only in the term that is its own; each renewal shows.
func TestOnlyTheLeaderInItsTermRenewsAndResigns(t *testing.T) {
	t.Parallel()
	l := New("sweeps")
	must(t, l.Claim("a", l.Mark()))
	must(t, l.Claim("b", l.Mark()))
	must(t, l.Claim("a", l.Mark()))
	must(t, l.Renew("a", 3))
	before := l.Record()
	for _, c := range []struct {
		holder string
		number int64
	}{{"b", 3}, {"b", 2}, {"a", 1}, {"a", 4}, {"", 3}} {
		refused(t, l.Renew(c.holder, c.number), "not_leader")
		refused(t, l.Resign(c.holder, c.number), "not_leader")
	}
	if l.Record() != before || before.Beat != 1 {
		t.Fatalf("got %+v, before %+v", l.Record(), before)
	}
	must(t, l.Resign("a", 3))
	if want := (Mark{"", 3, 1}); l.Mark() != want {
		t.Fatalf("after it resigned: %+v, want %+v", l.Mark(), want)
	}
}

func TestClaimRefusesNonsenseAndChangesNothing(t *testing.T) {
	t.Parallel()
	for holder, slug := range map[string]string{"": "invalid_holder", strings.Repeat("x", 65): "invalid_holder"} {
		l := New("sweeps")
		refused(t, l.Claim(holder, l.Mark()), slug)
		if l.Record() != New("sweeps").Record() {
			t.Errorf("a refusal changed the term to %+v", l.Record())
		}
	}
	last := Restore(Record{Duty: "sweeps", Holder: "a", Number: ident.MaxCounter, Beat: ident.MaxCounter})
	refused(t, last.Claim("b", last.Mark()), "term_exhausted")
	refused(t, last.Renew("a", ident.MaxCounter), "beat_exhausted")
}
