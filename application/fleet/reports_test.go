package fleet_test

import (
	"strings"
	"testing"

	"berth/application/fleet"
	"berth/domain/authorization"
	"berth/domain/placement"
)

// reporting is one kind of report: in which phase it is due, from whom, and how it is sent.
type reporting struct {
	name  string
	phase placement.Phase // in which it is accepted
	role  string          // source or target, or both
	send  func(w *world, node, m string, generation int64) error
	right int64 // its generation, relative to the migration's
}

func reportings() []reporting {
	return []reporting{
		{"prepared", placement.PhasePreparing, "both", func(w *world, node, m string, g int64) error {
			return w.Prepared(w.ctx, fleet.PreparedRequest{Report: w.report(node, m, g), BaseSequence: 7})
		}, 0},
		{"quiesced", placement.PhaseQuiescing, "source", func(w *world, node, m string, g int64) error {
			return w.quiesced(node, m, g, snapshot)
		}, 0},
		{"copied", placement.PhaseCopying, "target", func(w *world, node, m string, g int64) error {
			return w.Copied(w.ctx, fleet.CopiedRequest{Report: w.report(node, m, g), Manifest: snapshot})
		}, 0},
		{"drained", placement.PhaseDraining, "source", func(w *world, node, m string, g int64) error {
			return w.drained(node, m, g)
		}, 1},
		{"failed", placement.PhaseCopying, "both", func(w *world, node, m string, g int64) error {
			return w.ReportFailure(w.ctx, fleet.FailureReport{Report: w.report(node, m, g), Step: "copy", Reason: "no"})
		}, 0},
	}
}

func (r reporting) from() string {
	if r.role == "source" {
		return "a"
	}
	return "b"
}

// A report that comes again, its first answer lost, changes nothing: no version, no note, no audit entry, no hint.
func TestReportsRepeat(t *testing.T) {
	t.Parallel()
	for _, r := range reportings() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := twoNodes(t)
			m := w.begin("acme", "b")
			w.carry(m, "a", "b", r.phase)
			w.must(r.send(w, r.from(), m, 1+r.right))
			w.hints.Took()
			before := w.dump()
			err := r.send(w, r.from(), m, 1+r.right)
			if r.name == "failed" { // it has ended: there is nothing here for its nodes any more
				w.refused(err, "not_found")
			} else {
				w.must(err)
			}
			w.same(before, "the repeated report")
		})
	}
}

// Whoever has no part in a migration learns nothing of it: not that it exists, nor its state, nor its generation (I8).
func TestStrangersLearnNothing(t *testing.T) {
	t.Parallel()
	want := authorization.Decide(authorization.OpPrepared, placement.RoleStranger, placement.PhaseNone).Error()
	for _, r := range reportings() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := twoNodes(t)
			w.node("c", "eu", 10)
			m := w.begin("acme", "b")
			w.carry(m, "a", "b", r.phase)
			w.hints.Took()
			before := w.dump()
			for what, err := range map[string]error{
				"a stranger":           r.send(w, "c", m, 1+r.right),
				"a stranger, stale":    r.send(w, "c", m, 9),
				"an unknown migration": r.send(w, "a", "mig_none", 1),
			} {
				if err == nil || err.Error() != want {
					t.Errorf("%s got %v", what, err)
				}
			}
			if other := map[string]string{"a": "b", "b": "a"}[r.from()]; r.role != "both" {
				if err := r.send(w, other, m, 1+r.right); err == nil || err.Error() != want {
					t.Errorf("the other node of the migration got %v", err)
				}
			}
			w.same(before, "a stranger's report")
		})
	}
}

// A report in a phase that it does not belong to is refused, and nothing changes (P1).
func TestReportsOutOfTurn(t *testing.T) {
	t.Parallel()
	for phase := placement.PhasePreparing; phase <= placement.PhaseDone; phase++ {
		t.Run(phase.String(), func(t *testing.T) {
			t.Parallel()
			w := twoNodes(t)
			m := w.begin("acme", "b")
			w.carry(m, "a", "b", phase)
			for _, r := range reportings() {
				role := map[string]placement.Role{"a": placement.RoleSource, "b": placement.RoleTarget}[r.from()]
				if authorization.Decide(authorization.Operation(r.name), role, phase) == nil {
					continue
				}
				w.hints.Took()
				before := w.dump()
				w.refused(r.send(w, r.from(), m, 1+r.right), "not_found")
				w.same(before, r.name+" out of turn")
			}
		})
	}
}

// A report of another generation is refused (P16).
func TestReportsOfAnotherGeneration(t *testing.T) {
	t.Parallel()
	for _, r := range reportings() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := twoNodes(t)
			m := w.begin("acme", "b")
			w.carry(m, "a", "b", r.phase)
			w.hints.Took()
			before := w.dump()
			for _, g := range []int64{r.right, 2 + r.right, 7, -1} {
				if g == 0 && r.name != "quiesced" && r.name != "drained" {
					continue // their form may leave it out
				}
				w.refused(r.send(w, r.from(), m, g), "generation_stale")
			}
			w.same(before, "a stale report")
		})
	}
}

// A late report of an earlier migration does not touch the one that runs now (P16).
func TestReportsOfAnEarlierMigration(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	first := w.begin("acme", "b")
	w.carry(first, "a", "b", placement.PhaseCopying)
	w.must(w.abort("acme", first))
	second := w.begin("acme", "b")
	w.carry(second, "a", "b", placement.PhaseCopying)
	w.hints.Took()
	before := w.dump()
	for _, r := range reportings() {
		w.refused(r.send(w, r.from(), first, 1+r.right), "not_found")
	}
	w.same(before, "a report of the aborted migration")
	w.must(w.copied("b", second, snapshot))
}

// The first accepted quiesced wins; another root is refused (DESIGN §14).
func TestAnotherManifestIsRefused(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseCopying)
	w.hints.Took()
	before := w.dump()
	w.refused(w.quiesced("a", m, 1, placement.Manifest{Root: root("b"), LastSequence: 41}), "manifest_root_differs")
	w.refused(w.quiesced("a", m, 1, placement.Manifest{Root: root("a"), LastSequence: 42}), "last_sequence_differs")
	w.refused(w.quiesced("a", m, 1, placement.Manifest{Root: "short", LastSequence: 41}), "invalid_manifest_root")
	w.same(before, "another manifest")
}

// A source whose snapshot ends before a recorded backup lost writes: the move would make that final (P11).
func TestQuiescedBehindTheBackupIsRefused(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.must(w.recordBackup("a", "acme", 1, placement.Manifest{Root: root("c"), LastSequence: 42}))
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseQuiescing)
	w.hints.Took()
	before := w.dump()
	w.refused(w.quiesced("a", m, 1, snapshot), "backup_older")
	w.same(before, "a snapshot behind the backup")
}

// A target that found a difference is refused, the reason is kept with the migration, and it can still succeed (P4).
func TestCopiedRefusalIsKept(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseCopying)
	was := w.placement("acme")
	w.hints.Took()
	for _, c := range []struct {
		manifest placement.Manifest
		slug     string
	}{
		{placement.Manifest{Root: root("b"), LastSequence: 41}, "manifest_root_differs"},
		{placement.Manifest{Root: root("a"), LastSequence: 40}, "last_sequence_differs"},
	} {
		w.refused(w.copied("b", m, c.manifest), c.slug)
		steps := w.migration(m).Steps
		if last := steps[len(steps)-1]; last.Name != "copied refused" || last.Detail != c.slug {
			t.Errorf("the migration remembers %+v", last)
		}
		if e := w.lastEntry("migration.copied_refused"); e.Actor.ID != "b" || e.Detail["reason"] != c.slug {
			t.Errorf("the refusal was audited as %+v", e)
		}
		if len(w.hints.Took()) == 0 {
			t.Error("nobody was told of the refusal")
		}
	}
	if now := w.placement("acme"); now != was {
		t.Errorf("the refusal changed the placement: %+v", now)
	}
	w.refused(w.copied("b", m, placement.Manifest{Root: "nonsense"}), "invalid_manifest_root")
	w.must(w.copied("b", m, snapshot))
}

// Refusals are bounded: a target that never stops changes nothing any more at some point.
func TestCopiedRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseCopying)
	bad := placement.Manifest{Root: root("b"), LastSequence: 41}
	for range 100 {
		w.refused(w.copied("b", m, bad), "manifest_root_differs")
	}
	before := w.dump()
	w.hints.Took()
	w.refused(w.copied("b", m, bad), "manifest_root_differs")
	w.same(before, "one refusal too many")
	w.must(w.copied("b", m, snapshot))
}

// A node that can not do its step ends the migration where it still can end (P6), with the reason; what it says is
// bounded text.
func TestFailureReport(t *testing.T) {
	t.Parallel()
	for phase := placement.PhasePreparing; phase <= placement.PhaseSwitching; phase++ {
		t.Run(phase.String(), func(t *testing.T) {
			t.Parallel()
			w := twoNodes(t)
			m := w.begin("acme", "b")
			w.carry(m, "a", "b", phase)
			w.must(w.failed("b", m))
			r := w.migration(m)
			if r.State != placement.PhaseFailed || r.Failure == nil || r.Failure.Step != "copy" || r.Failure.Reason != "b: the disk is full" {
				t.Errorf("the migration failed as %+v %+v", r, r.Failure)
			}
			if p := w.placement("acme"); p.State != placement.Active || p.Node != "a" || p.Generation != 1 {
				t.Errorf("after the failure the placement is %+v", p)
			}
		})
	}
	w := twoNodes(t)
	m := w.begin("acme", "b")
	before := w.dump()
	w.hints.Took()
	for _, bad := range []fleet.FailureReport{
		{Step: "", Reason: "x"}, {Step: "x", Reason: ""}, {Step: strings.Repeat("x", 65), Reason: "x"},
		{Step: "x", Reason: strings.Repeat("x", 513)}, {Step: "x", Reason: "a\x00b"}, {Step: "x\xff", Reason: "x"},
	} {
		bad.Report = w.report("b", m, 1)
		w.refused(w.ReportFailure(w.ctx, bad), "invalid_text")
	}
	w.same(before, "a failure without a bounded reason")
	long := fleet.FailureReport{Report: w.report("b", m, 1), Step: "x", Reason: strings.Repeat("é", 256)}
	w.must(w.ReportFailure(w.ctx, long))
}

func (w *world) recordBackup(node, tenant string, g int64, f placement.Manifest) error {
	return w.RecordBackup(w.ctx, fleet.RecordBackupRequest{
		Caller: caller(node), Ticket: w.ticket(), Tenant: tenant, Generation: g, Manifest: f,
	})
}

// Backups come from the holder at its generation only, and a lower sequence never replaces a higher (P11).
func TestRecordBackup(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	at := func(n int64, digit string) placement.Manifest {
		return placement.Manifest{Root: root(digit), LastSequence: n}
	}
	w.must(w.recordBackup("a", "acme", 1, at(10, "1")))
	if b := w.backup("acme"); b == nil || b.Node != "a" || b.Generation != 1 || b.Manifest != at(10, "1") {
		t.Fatalf("recorded %+v", b)
	}
	w.hints.Took()
	before := w.dump()
	w.must(w.recordBackup("a", "acme", 1, at(10, "1")))
	w.refused(w.recordBackup("a", "acme", 1, at(9, "2")), "backup_older")
	w.refused(w.recordBackup("a", "acme", 2, at(11, "2")), "generation_stale")
	w.refused(w.recordBackup("b", "acme", 1, at(11, "2")), "not_found")
	w.refused(w.recordBackup("a", "nobody", 1, at(11, "2")), "not_found")
	w.refused(w.recordBackup("a", "acme", 1, placement.Manifest{Root: "x", LastSequence: 11}), "invalid_manifest_root")
	w.same(before, "what is no new backup")
	w.must(w.recordBackup("a", "acme", 1, at(12, "3")))
	if e := w.lastEntry("backup.recorded"); e.Subject != "tenant/acme" || e.Detail["last_sequence"] != "12" {
		t.Errorf("the backup was audited as %+v", e)
	}
}
