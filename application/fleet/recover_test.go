package fleet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"berth/application/fleet"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/notify"
)

func (w *world) rescue(change func(*fleet.RecoverRequest)) (*placement.Migration, error) {
	in := fleet.RecoverRequest{
		Actor: alice, Tenant: "acme", LostNode: "a", Generation: 1, TargetNode: "b", AcceptDataLoss: true,
	}
	if change != nil {
		change(&in)
	}
	return w.Recover(w.ctx, in)
}

// backedUp is twoNodes with a verified backup at sequence 10.
func backedUp(t tb) *world {
	t.Helper()
	w := twoNodes(t)
	w.must(w.recordBackup("a", "acme", 1, placement.Manifest{Root: root("d"), LastSequence: 10}))
	return w
}

// A tenant is recovered from the last backup once its node's lease ran out: at the same generation until the switch,
// and the answer and the audit entry name what is lost (P11).
func TestRecover(t *testing.T) {
	t.Parallel()
	w := backedUp(t)
	taken := w.clock.Now()
	w.lapseOf("a", "b")
	begun, err := w.rescue(nil)
	w.must(err)
	r, p := begun.Record(), w.placement("acme")
	if r.Kind != placement.Recovery || r.State != placement.PhaseCopying || r.ManifestRoot != root("d") || r.Generation != 1 {
		t.Errorf("the recover began as %+v", r)
	}
	if r.DataLoss == nil || r.DataLoss.LastSequence != 10 || !r.DataLoss.LastBackupAt.Equal(taken) {
		t.Errorf("it names the loss as %+v", r.DataLoss)
	}
	if p.State != placement.Copying || p.Node != "a" || p.Generation != 1 {
		t.Errorf("the placement is %+v", p)
	}
	e := w.lastEntry("migration.recover_begun")
	for key, want := range map[string]string{
		"lost_node": "a", "target": "b", "last_sequence": "10", "accept_data_loss": "true", "manifest_root": root("d"),
		"last_backup_at": taken.Format(time.RFC3339Nano),
	} {
		if e.Detail[key] != want || e.Actor != alice || e.Subject != "tenant/acme" {
			t.Errorf("the recover was audited as %+v, want %s %q", e, key, want)
		}
	}
	w.must(w.copied("b", r.ID, placement.Manifest{Root: root("d"), LastSequence: 10}))
	if p := w.placement("acme"); p.State != placement.Draining || p.Node != "b" || p.Generation != 2 {
		t.Fatalf("after copied the placement is %+v", p)
	}
	if b := w.backup("acme"); b.Generation != 2 || b.Node != "b" || b.Manifest.Root != root("d") {
		t.Errorf("after the switch the backup is %+v", b)
	}
	w.clock.Advance(w.Settings.Deadlines.Drain)
	w.must(w.SweepMigrations(w.ctx))
	if p := w.placement("acme"); p.State != placement.Active || p.Node != "b" {
		t.Errorf("the lost source kept the drain open: %+v", p)
	}
}

// A lease that the control plane has not counted out keeps its tenants, and so does one that was renewed (P9).
func TestRecoverNeedsALapsedLease(t *testing.T) {
	t.Parallel()
	w := backedUp(t)
	w.clock.Advance(time.Hour) // by the wall clock the node is silent for long
	w.beat("b")
	before := w.dump()
	w.hints.Took()
	_, err := w.rescue(nil)
	w.refused(err, "lease_not_run_out")
	w.same(before, "a recover off a node that may write")
	w.lapseOf("a", "b")
	w.beat("a")
	_, err = w.rescue(nil)
	w.refused(err, "lease_not_run_out")
}

// Each thing that an operator could have got wrong is refused, and changes nothing (P11).
func TestRecoverIsRefused(t *testing.T) {
	t.Parallel()
	w := backedUp(t)
	w.lapseOf("a", "b")
	w.node("small", "eu", 0)
	w.beat("b")
	w.hints.Took()
	before := w.dump()
	for slug, change := range map[string]func(*fleet.RecoverRequest){
		"data_loss_not_accepted":    func(in *fleet.RecoverRequest) { in.AcceptDataLoss = false },
		"node_does_not_hold_tenant": func(in *fleet.RecoverRequest) { in.LostNode = "b" },
		"generation_stale":          func(in *fleet.RecoverRequest) { in.Generation = 2 },
		"backup_unknown":            func(in *fleet.RecoverRequest) { in.Backup = root("e") },
		"node_not_found":            func(in *fleet.RecoverRequest) { in.TargetNode = "nowhere" },
		"tenant_not_found":          func(in *fleet.RecoverRequest) { in.Tenant = "nobody" },
		"target_is_source":          func(in *fleet.RecoverRequest) { in.TargetNode = "a" },
		"target_full":               func(in *fleet.RecoverRequest) { in.TargetNode = "small" },
	} {
		_, err := w.rescue(change)
		w.refused(err, slug)
		w.same(before, "a recover refused as "+slug)
	}
	_, err := w.rescue(func(in *fleet.RecoverRequest) { in.AcceptDataLoss = false })
	if e, _ := fault.As(err); !strings.Contains(e.Cure, "sequence 10") {
		t.Errorf("the operator is not told what would be lost: %q", e.Cure)
	}
	w.tenant("bare", "eu")
	w.lapseOf("b", "small")
	w.beat("a")
	_, err = w.rescue(func(in *fleet.RecoverRequest) { in.Tenant, in.LostNode, in.TargetNode = "bare", "b", "a" })
	w.refused(err, "no_verified_backup")
}

// A delayed retry of a recover that was done finds another generation and does nothing (DESIGN §14).
func TestDelayedRecoverDoesNothing(t *testing.T) {
	t.Parallel()
	w := backedUp(t)
	w.lapseOf("a", "b")
	begun, err := w.rescue(nil)
	w.must(err)
	_, err = w.rescue(nil)
	w.refused(err, "migration_in_flight")
	w.must(w.copied("b", begun.Record().ID, placement.Manifest{Root: root("d"), LastSequence: 10}))
	w.clock.Advance(w.Settings.Deadlines.Drain)
	w.must(w.SweepMigrations(w.ctx))
	w.hints.Took()
	before := w.dump()
	_, err = w.rescue(nil)
	w.refused(err, "node_does_not_hold_tenant")
	_, err = w.rescue(func(in *fleet.RecoverRequest) { in.LostNode, in.TargetNode = "b", "a" })
	w.refused(err, "generation_stale")
	w.same(before, "a delayed recover")
}

// Until the switch a recover may be aborted back to the node that was lost (DESIGN §14).
func TestRecoverIsAborted(t *testing.T) {
	t.Parallel()
	w := backedUp(t)
	w.lapseOf("a", "b")
	begun, err := w.rescue(nil)
	w.must(err)
	w.must(w.abort("acme", begun.Record().ID))
	if p := w.placement("acme"); p.State != placement.Active || p.Node != "a" || p.Generation != 1 {
		t.Errorf("after the abort the placement is %+v", p)
	}
	if got := w.nodeRecord("b").Inbound; got != 0 {
		t.Errorf("the target still reserves %d", got)
	}
	_, err = w.rescue(nil)
	w.must(err)
}

// A migration that prepared, quiesced or drained when its node was lost is superseded; its other node is freed of it and
// told. One that copies or switches is to be aborted first.
func TestRecoverSupersedes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase        placement.Phase
		lost, target string
		g            int64
	}{
		{placement.PhasePreparing, "a", "c", 1}, {placement.PhasePreparing, "a", "b", 1}, {placement.PhaseQuiescing, "a", "c", 1},
		{placement.PhaseQuiescing, "a", "b", 1}, {placement.PhaseDraining, "b", "c", 2}, {placement.PhaseDraining, "b", "a", 2},
	} {
		t.Run(c.phase.String()+" to "+c.target, func(t *testing.T) {
			t.Parallel()
			w := backedUp(t)
			w.node("c", "eu", 10)
			m := w.begin("acme", "b")
			w.Settings.Deadlines.Drain = time.Hour
			snap := snapshot
			w.carry(m, "a", "b", c.phase)
			others := map[string][]string{"a": {"b", "c"}, "b": {"a", "c"}}[c.lost]
			w.lapseOf(c.lost, others...)
			w.hints.Took()
			peer := map[string]string{"a": "b", "b": "a"}[c.lost]
			was := w.nodeRecord(peer).Assignments
			begun, err := w.rescue(func(in *fleet.RecoverRequest) { in.LostNode, in.TargetNode, in.Generation = c.lost, c.target, c.g })
			w.must(err)
			if r := w.migration(m); r.State != placement.PhaseFailed || r.Failure == nil || r.Failure.Step != "superseded" {
				t.Errorf("the prior migration is %+v", r)
			}
			if w.nodeRecord(peer).Assignments <= was {
				t.Error("the other node of the prior migration was not told")
			}
			hinted := w.hints.Took()
			for _, topic := range []notify.Topic{"node/a", "node/b", notify.Topic("node/" + c.target), "tenant/acme", notify.Topic("migration/" + m)} {
				if !slices.Contains(hinted, topic) {
					t.Errorf("hinted at %v, not at %s", hinted, topic)
				}
			}
			w.checkCounters()
			if c.phase != placement.PhaseDraining {
				snap = placement.Manifest{Root: root("d"), LastSequence: 10}
			}
			w.must(w.copied(c.target, begun.Record().ID, snap))
			if p := w.placement("acme"); p.Node != c.target || p.Generation != c.g+1 {
				t.Errorf("the recover ended with %+v", p)
			}
			w.checkCounters()
		})
	}
	for _, phase := range []placement.Phase{placement.PhaseCopying, placement.PhaseSwitching} {
		w := backedUp(t)
		m := w.begin("acme", "b")
		w.carry(m, "a", "b", phase)
		w.lapseOf("a", "b")
		_, err := w.rescue(nil)
		w.refused(err, "migration_in_flight")
	}
}
