package fleet_test

import (
	"strings"

	"berth/application/fleet"
	"berth/domain/placement"
)

// root is a manifest root made of one digit.
func root(digit string) string { return strings.Repeat(digit, 64) }

var snapshot = placement.Manifest{Root: root("a"), LastSequence: 41}

func (w *world) report(node, migration string, generation int64) fleet.Report {
	return fleet.Report{Caller: caller(node), Ticket: w.ticket(), Migration: migration, Generation: generation}
}

func (w *world) begin(tenant, target string) string {
	w.t.Helper()
	m, err := w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: tenant, TargetNode: target})
	w.must(err)
	return m.Record().ID
}

func (w *world) prepared(node, m string) error {
	return w.Prepared(w.ctx, fleet.PreparedRequest{Report: w.report(node, m, 0), BaseSequence: 7})
}

func (w *world) quiesced(node, m string, generation int64, f placement.Manifest) error {
	return w.Quiesced(w.ctx, fleet.QuiescedRequest{Report: w.report(node, m, generation), Manifest: f})
}

func (w *world) copied(node, m string, f placement.Manifest) error {
	return w.Copied(w.ctx, fleet.CopiedRequest{Report: w.report(node, m, 0), Manifest: f})
}

func (w *world) drained(node, m string, generation int64) error {
	return w.Drained(w.ctx, fleet.DrainedRequest{Report: w.report(node, m, generation)})
}

func (w *world) failed(node, m string) error {
	return w.ReportFailure(w.ctx, fleet.FailureReport{Report: w.report(node, m, 0), Step: "copy", Reason: "the disk is full"})
}

func (w *world) abort(tenant, m string) error {
	_, err := w.AbortMigration(w.ctx, fleet.AbortMigrationRequest{Actor: alice, Tenant: tenant, Migration: m})
	return err
}

// carry takes a fresh migration from source to target up to the given phase, by the nodes' reports.
func (w *world) carry(m, source, target string, to placement.Phase) {
	w.t.Helper()
	g := w.migration(m).Generation
	steps := []struct {
		reaches placement.Phase
		do      func() error
	}{
		{placement.PhasePreparing, func() error { return nil }},
		{placement.PhaseQuiescing, func() error {
			w.must(w.prepared(source, m))
			return w.prepared(target, m)
		}},
		{placement.PhaseCopying, func() error { return w.quiesced(source, m, g, snapshot) }},
		{placement.PhaseSwitching, func() error { return w.copiedOnly(target, m) }},
		{placement.PhaseDraining, func() error { return w.SweepMigrations(w.ctx) }},
		{placement.PhaseDone, func() error { return w.drained(source, m, g+1) }},
	}
	for _, step := range steps {
		if step.reaches > to {
			return
		}
		w.must(step.do())
		if got := w.migration(m).State; got != step.reaches {
			w.t.Fatalf("the migration is %s, want %s", got, step.reaches)
		}
	}
}

// copiedOnly reports copied while the second transaction, that of the switch, fails.
func (w *world) copiedOnly(target, m string) error {
	w.failCommitsAfter(1)
	defer w.noFaults()
	return w.copied(target, m, snapshot)
}
