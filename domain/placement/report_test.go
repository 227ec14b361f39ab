package placement

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"berth/domain/fault"
	"berth/domain/ident"
)

// A report counts only from the node whose step it is, with the generation at which it does it (P3, P4, P7, P16).
func TestReportsCountOnlyFromTheirNodeAndGeneration(t *testing.T) {
	t.Parallel()
	reports := map[string]struct {
		phase Phase
		right Reporter
		bare  bool // its form carries no generation
		send  func(*bench, Reporter) error
	}{
		"quiesced": {PhaseQuiescing, Reporter{"a", 1}, false, func(b *bench, r Reporter) error {
			return b.m.Quiesced(b.parties(b.m), r, b.manifest(), b.deadlines(), b.now)
		}},
		"copied": {PhaseCopying, Reporter{"b", 1}, true, func(b *bench, r Reporter) error {
			return b.m.Copied(b.parties(b.m), r, b.manifest(), b.now)
		}},
		"drained": {PhaseDraining, Reporter{"a", 2}, false, func(b *bench, r Reporter) error {
			return b.m.Drained(b.parties(b.m), r, b.now)
		}},
	}
	for name, report := range reports {
		for _, node := range []string{"a", "b", "c", ""} {
			for g := int64(-1); g <= 3; g++ {
				b, r := newBench(t).reach(Move, report.phase), Reporter{node, g}
				before := b.image()
				err := report.send(b, r)
				switch {
				case node != report.right.Node:
					if fault.KindOf(err) != fault.Forbidden || !isSlug(err, "wrong_reporter") {
						t.Errorf("%s by %+v: %v", name, r, err)
					}
				case g == report.right.Generation || report.bare && g == 0:
					must(t, err)
					continue
				case !isSlug(err, "generation_stale"):
					t.Errorf("%s by %+v: %v", name, r, err)
				}
				if !reflect.DeepEqual(before, b.image()) {
					t.Errorf("%s by %+v changed something", name, r)
				}
			}
		}
	}
}

// Strangers are no party, and a party that names another generation is told so rather than called a stranger.
func TestPreparedAndFailedTellStrangersFromStaleParties(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhasePreparing)
	w := b.parties(b.m)
	for r, slug := range map[Reporter]string{
		{"c", 1}: "wrong_reporter", {"", 0}: "wrong_reporter", {"a", 2}: "generation_stale", {"b", -1}: "generation_stale",
	} {
		_, err := b.m.Prepared(w, r, 1, b.now)
		refused(t, err, slug)
		refused(t, b.m.Reported(w, r, "copy", "disk full", b.now), slug)
	}
}

// The first accepted root wins, also for a report that comes again late; another is refused (§14).
func TestQuiescedIsBoundToItsFirstRoot(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhaseCopying, PhaseSwitching, PhaseDraining, PhaseDone} {
		b := newBench(t).reach(Move, phase)
		before := b.image()
		send := func(f Manifest) error {
			return b.m.Quiesced(b.parties(b.m), Reporter{"a", 1}, f, b.deadlines(), b.now)
		}
		must(t, send(Manifest{root(9), 9}))
		refused(t, send(Manifest{root(8), 9}), "manifest_root_differs")
		refused(t, send(Manifest{root(9), 8}), "last_sequence_differs")
		refused(t, send(Manifest{"", 9}), "invalid_manifest_root")
		if !reflect.DeepEqual(before, b.image()) {
			t.Errorf("%s: something changed", phase)
		}
	}
}

// Any difference refuses copied, and the reason is kept (P4): a note, and nothing else.
func TestCopiedWithADifferenceIsRefusedAndNoted(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhaseCopying)
	for f, slug := range map[Manifest]string{{root(8), 9}: "manifest_root_differs", {root(9), 10}: "last_sequence_differs"} {
		before := b.image()
		steps := len(b.m.r.Steps)
		refused(t, b.m.Copied(b.parties(b.m), Reporter{Node: "b"}, f, b.now), slug)
		if got := b.m.r.Steps[steps:]; len(got) != 1 || got[0].Name != "copied refused" || got[0].Detail != slug {
			t.Errorf("noted: %+v", got)
		}
		if after := b.image(); !reflect.DeepEqual(unremarked(before), unremarked(after)) {
			t.Errorf("more than a note changed:\n%+v\n%+v", before, after)
		}
	}
}

// Both nodes have to prepare; a repetition changes nothing, and a base that grew is noted (P1, P2).
func TestPreparedNeedsBoth(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		b := newBench(t).reach(Move, PhasePreparing)
		w := b.parties(b.m)
		both, err := b.m.Prepared(w, Reporter{Node: order[0]}, 5, b.now)
		must(t, err)
		before := b.image()
		again, err := b.m.Prepared(w, Reporter{Node: order[0]}, 5, b.now.Add(time.Second))
		must(t, err)
		if both || again || !reflect.DeepEqual(before, b.image()) {
			t.Fatalf("one of two: %t, %t", both, again)
		}
		refused(t, b.m.Quiesce(w, b.deadlines(), b.now), "not_prepared")
		both, err = b.m.Prepared(w, Reporter{Node: order[1]}, 3, b.now)
		must(t, err)
		if !both || b.m.r.BaseSequence != 5 {
			t.Fatalf("both: %t, base %d", both, b.m.r.BaseSequence)
		}
		_, err = b.m.Prepared(w, Reporter{Node: order[0]}, 8, b.now)
		must(t, err)
		if b.m.r.BaseSequence != 8 {
			t.Fatalf("base %d after it grew", b.m.r.BaseSequence)
		}
		must(t, b.m.Quiesce(w, b.deadlines(), b.now))
	}
}

// The prepare deadline quiesces or fails, as it is set; before it neither happens (P2).
func TestPrepareDeadlineDoesWhatIsSet(t *testing.T) {
	t.Parallel()
	for _, goOn := range []bool{true, false} {
		b := newBench(t).reach(Move, PhasePreparing)
		d := b.deadlines()
		d.QuiesceUnprepared = goOn
		end := b.m.r.Deadline
		if got := b.m.Due(d, true, end.Add(-time.Microsecond)); got != Wait {
			t.Fatalf("early: %d", got)
		}
		refused(t, b.m.Quiesce(b.parties(b.m), d, end.Add(-time.Microsecond)), "not_prepared")
		if want := map[bool]Action{true: DoQuiesce, false: DoFail}[goOn]; b.m.Due(d, true, end) != want {
			t.Fatalf("late, going on %t: %d", goOn, b.m.Due(d, true, end))
		}
		if err := b.m.Quiesce(b.parties(b.m), d, end); (err == nil) != goOn {
			t.Fatalf("going on %t: %v", goOn, err)
		}
	}
}

// What a sweep owes a migration in each phase, early and late, with the source online or not (P5–P7).
func TestDueInEveryPhase(t *testing.T) {
	t.Parallel()
	for phase, want := range map[Phase]struct{ early, late, lateOffline Action }{
		PhasePreparing: {Wait, DoFail, DoFail},
		PhaseQuiescing: {Wait, DoFail, DoFail},
		PhaseCopying:   {Wait, DoFail, DoFail},
		PhaseSwitching: {DoSwitch, DoSwitch, DoSwitch},
		PhaseDraining:  {Wait, Wait, DoEndDrain},
		PhaseDone:      {Wait, Wait, Wait},
		PhaseAborted:   {Wait, Wait, Wait},
		PhaseFailed:    {Wait, Wait, Wait},
	} {
		b := newBench(t).reach(Move, phase)
		d, late := b.deadlines(), b.now.Add(time.Hour)
		if got := b.m.Due(d, true, b.now); got != want.early {
			t.Errorf("%s: early %d, want %d", phase, got, want.early)
		}
		if got := b.m.Due(d, false, b.now); got != want.early {
			t.Errorf("%s: early and offline %d, want %d", phase, got, want.early)
		}
		if got := b.m.Due(d, true, late); got != want.late {
			t.Errorf("%s: late %d, want %d", phase, got, want.late)
		}
		if got := b.m.Due(d, false, late); got != want.lateOffline {
			t.Errorf("%s: late and offline %d, want %d", phase, got, want.lateOffline)
		}
	}
}

// Each step has the deadline of its own kind, counted from when it began; switching, which the control plane does by
// itself, keeps that of the copy.
func TestEachStepHasItsOwnDeadline(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhasePreparing)
	d := b.deadlines()
	for phase, want := range map[Phase]time.Time{
		PhasePreparing: b.now.Add(d.Prepare), PhaseQuiescing: b.now.Add(d.Quiesce), PhaseCopying: b.now.Add(d.Copy),
		PhaseSwitching: b.now.Add(d.Copy), PhaseDraining: b.now.Add(d.Drain), PhaseDone: {}, PhaseAborted: {}, PhaseFailed: {},
	} {
		if got := newBench(t).reach(Move, phase).m.Record().Deadline; !got.Equal(ident.Instant(want)) {
			t.Errorf("%s ends at %s, want %s", phase, got, want)
		}
	}
}

// A drain ends without the source's word only late and once the source's lease ran out (P7, P9).
func TestDrainDeadlineNeedsAFencedSource(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhaseDraining)
	w, lease, late := b.parties(b.m), b.nodes["a"].Lease, b.m.r.Deadline
	refused(t, b.m.DrainDeadline(w, lease, late), "source_not_fenced")
	b.lapse("a")
	refused(t, b.m.DrainDeadline(w, lease, late.Add(-time.Microsecond)), "source_not_fenced")
	refused(t, b.m.DrainDeadline(w, b.nodes["b"].Lease, late), "parties_mismatched")
	must(t, b.m.DrainDeadline(w, lease, late))
}

// However often reports come, a migration stays small, its own steps are all noted, and no note holds half a character.
func TestNotesAreBoundedButStepsAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhaseCopying)
	for i := range 200 {
		refused(t, b.m.Copied(b.parties(b.m), Reporter{Node: "b"}, Manifest{root(1000 + i), 9}, b.now), "manifest_root_differs")
	}
	if n := len(b.m.r.Steps); n > noteLimit {
		t.Fatalf("%d notes", n)
	}
	b.forward()
	b.forward()
	b.forward()
	var names []string
	for _, s := range b.m.r.Steps[noteLimit:] {
		names = append(names, s.Name)
	}
	if fmt.Sprint(names) != "[copied switch drained]" {
		t.Fatalf("the last steps are %v", names)
	}
	b = newBench(t).reach(Move, PhaseCopying)
	must(t, b.m.Reported(b.parties(b.m), Reporter{Node: "b"}, "copy", strings.Repeat("ä", 400)+"\xff", b.now))
	f := b.m.Record().Failure
	if !utf8.ValidString(f.Reason) || len(f.Reason) > 512 || len(f.Reason) < 500 || f.Step != "copy" {
		t.Fatalf("failure %+v", f)
	}
}

// What a record shows is not the migration itself (stores and views keep records).
func TestRecordsShareNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Recovery, PhaseFailed)
	intact := func(m *Migration) bool {
		r := m.Record()
		return r.Steps[0].Name == "recover" && r.Failure.Reason == "disk full" && r.DataLoss.LastSequence == 7
	}
	r := b.m.Record()
	m := RestoreMigration(r)
	r.Steps[0].Name, r.Failure.Reason, r.DataLoss.LastSequence = "x", "x", 1
	if !intact(b.m) || !intact(m) {
		t.Fatalf("changing a record changed a migration: %+v, %+v", b.m.Record(), m.Record())
	}
}
