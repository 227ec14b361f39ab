package placement

import (
	"testing"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Only the node that holds the placement backs it up, at its generation (P11).
func TestBackupsAreTakenFromTheHolderAtItsGeneration(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhaseDraining) // b holds it at 2, a is still there
	for _, c := range []struct {
		node       string
		generation int64
		kind       fault.Kind
		slug       string
	}{
		{"a", 1, fault.Forbidden, "wrong_reporter"}, {"a", 2, fault.Forbidden, "wrong_reporter"},
		{"c", 2, fault.Forbidden, "wrong_reporter"}, {"", 2, fault.Forbidden, "wrong_reporter"},
		{"b", 1, fault.Conflict, "generation_stale"}, {"b", 3, fault.Conflict, "generation_stale"},
		{"b", 0, fault.Conflict, "generation_stale"},
	} {
		got, err := TakeBackup(b.backup, b.p, Reporter{c.node, c.generation}, Manifest{root(9), 99}, at(200))
		if fault.KindOf(err) != c.kind || !isSlug(err, c.slug) || got != (Backup{}) {
			t.Errorf("%+v: got %+v, %v", c, got, err)
		}
	}
	got, err := TakeBackup(b.backup, b.p, Reporter{"b", 2}, Manifest{root(9), 1}, at(200))
	must(t, err)
	if want := (Backup{"acme", "b", 2, Manifest{root(9), 1}, ident.Instant(at(200))}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBackupRefusesNonsense(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, f := range []Manifest{{"", 1}, {root(1)[1:], 1}, {root(1) + "0", 1}, {"G" + root(1)[1:], 1}, {"A" + root(1)[1:], 1}, {root(1), -1}, {root(1), ident.MaxCounter + 1}} {
		if _, err := TakeBackup(nil, b.p, Reporter{"a", 1}, f, at(1)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: got %v", f, err)
		}
	}
}

// However reports arrive, late and again: within a generation the recorded sequence never shrinks, and a repetition of
// the recorded one keeps its time, since nothing says that it still covers what was written since.
func TestBackupsNeverGoBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, last := newBench(t), (*Backup)(nil)
		for i := range rapid.IntRange(1, 20).Draw(t, "reports") {
			f := Manifest{root(rapid.IntRange(1, 2).Draw(t, "root")), rapid.Int64Range(0, 4).Draw(t, "sequence")}
			next, err := TakeBackup(last, b.p, Reporter{"a", 1}, f, at(i))
			switch {
			case last != nil && f.LastSequence < last.Manifest.LastSequence:
				refused(t, err, "backup_older")
				continue
			case err != nil:
				t.Fatalf("%+v after %+v: %v", f, last, err)
			case last != nil && f == last.Manifest && next != *last:
				t.Fatalf("a repetition made %+v of %+v", next, *last)
			}
			last = &next
		}
	})
}

// A backup of a later generation counts, whatever its sequence: a recover may have given some up. An earlier one does not.
func TestBackupsFollowTheGeneration(t *testing.T) {
	t.Parallel()
	b := newBench(t).reach(Move, PhaseDone)
	_, err := TakeBackup(&Backup{Generation: 1, Manifest: Manifest{root(1), 900}}, b.p, Reporter{"b", 2}, Manifest{root(2), 3}, at(1))
	must(t, err)
	same := Backup{Generation: 1, Manifest: Manifest{root(2), 3}}
	next, err := TakeBackup(&same, b.p, Reporter{"b", 2}, same.Manifest, at(1))
	if must(t, err); next.Generation != 2 || next.Node != "b" {
		t.Fatalf("got %+v", next)
	}
	_, err = TakeBackup(&Backup{Generation: 3, Manifest: Manifest{root(1), 1}}, b.p, Reporter{"b", 2}, Manifest{root(2), 3}, at(1))
	refused(t, err, "backup_older")
}

// The manifest of a move is a backup once the target has verified all of it: at the old generation while switching, at the
// new one of the new node from the switch on (P11, R4). Before, and after giving up, it is none.
func TestAMigrationsManifestCountsOnceCopied(t *testing.T) {
	t.Parallel()
	for phase, want := range map[Phase]*Backup{
		PhasePreparing: nil, PhaseQuiescing: nil, PhaseCopying: nil, PhaseAborted: nil, PhaseFailed: nil,
		PhaseSwitching: {Node: "a", Generation: 1}, PhaseDraining: {Node: "b", Generation: 2}, PhaseDone: {Node: "b", Generation: 2},
	} {
		got := newBench(t).reach(Move, phase).m.Backup()
		if (got == nil) != (want == nil) {
			t.Errorf("%s: got %+v", phase, got)
			continue
		}
		if got != nil && (got.Node != want.Node || got.Generation != want.Generation || got.Manifest != (Manifest{root(9), 9}) ||
			got.Tenant != "acme" || got.At.IsZero()) {
			t.Errorf("%s: got %+v", phase, got)
		}
	}
	for _, phase := range []Phase{PhaseCopying, PhaseSwitching, PhaseAborted} {
		if got := newBench(t).reach(Recovery, phase).m.Backup(); got != nil {
			t.Errorf("a recover in %s makes a backup of the one it works from: %+v", phase, got)
		}
	}
	if got := newBench(t).reach(Recovery, PhaseDraining).m.Backup(); got == nil || got.Generation != 2 || got.Node != "b" {
		t.Errorf("after the switch of a recover: got %+v", got)
	}
}
