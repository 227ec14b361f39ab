package placement

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Backup is the last verified copy of a tenant in the backup store, as the control plane recorded it (P11).
type Backup struct {
	Tenant     string
	Node       string // which node took it
	Generation int64
	Manifest   Manifest
	At         time.Time
}

// TakeBackup records a backup: only from the node that holds the placement, at its generation, and never one with a
// lower sequence over a higher (P11). The same one again is no change: the recorded one is returned with its own time,
// since a late repetition says nothing about what was written since. last may be nil.
// Faults: Invalid; Forbidden wrong_reporter; Conflict generation_stale, backup_older.
func TakeBackup(last *Backup, p *Placement, r Reporter, f Manifest, now time.Time) (Backup, error) {
	if err := fault.All(checkRoot(f.Root), ident.Counter("last_sequence", f.LastSequence), dated(now)); err != nil {
		return Backup{}, err
	}
	if !p.Holds(r.Node) {
		return Backup{}, fault.New(fault.Forbidden, "wrong_reporter", "only the node that holds the placement backs it up")
	}
	if r.Generation != p.r.Generation {
		return Backup{}, fault.New(fault.Conflict, "generation_stale", "the backup is of another generation than the placement")
	}
	if last != nil && last.Generation == r.Generation && last.Manifest == f {
		return *last, nil
	}
	next := Backup{Tenant: p.r.Tenant, Node: r.Node, Generation: r.Generation, Manifest: f, At: ident.Instant(now)}
	if err := next.mayReplace(last); err != nil {
		return Backup{}, err
	}
	return next, nil
}

func (b Backup) mayReplace(last *Backup) error {
	if last == nil || b.Generation > last.Generation {
		return nil
	}
	if b.Generation < last.Generation || b.Manifest.LastSequence < last.Manifest.LastSequence {
		return fault.New(fault.Conflict, "backup_older", "a backup of a higher sequence is recorded already")
	}
	return nil
}

// Backup is the manifest of the migration as a backup record (P11): from copied on all of it is in the shared store (R4),
// of the present generation before the switch and of the next one after it (the model's H7). nil before that, when the
// chunks may still be missing, nil for an ended migration that did not switch, and nil for a recover before its switch,
// whose manifest is on record already.
func (m *Migration) Backup() *Backup {
	b := Backup{
		Tenant: m.r.Tenant, Node: m.r.Source, Generation: m.generationNow(),
		Manifest: Manifest{m.r.ManifestRoot, m.r.LastSequence}, At: m.r.ChangedAt,
	}
	switch m.r.State { //nolint:exhaustive // in every other state there is none
	case PhaseSwitching:
		if m.r.Kind == Move {
			return &b
		}
	case PhaseDraining, PhaseDone:
		b.Node = m.r.Target
		return &b
	}
	return nil
}

// RecoverPlan is an operator's wish to move a tenant off a node that is lost (P11).
type RecoverPlan struct {
	ID             string
	LostNode       string
	Generation     int64  // of the placement as the operator saw it: a delayed retry then does nothing
	Backup         string // manifest root the operator means; empty for the last verified one
	AcceptDataLoss bool
}

// Loss is what a recover works on: the lost node's lease, the migration of the tenant that still runs if there is one,
// and the last verified backup.
type Loss struct {
	Lease  *Lease
	Prior  *Migration
	Backup *Backup
}

// Recover begins a migration that enters at copying with the generation unchanged: the switch raises it, and the
// target has installed the data before it may write (P11, the model's H4). A migration that prepares, quiesces or drains
// ends with it, and its reservation is given back; one that copies or switches has to be aborted first. Where the target
// is a node of the prior migration too, it is one row: w.Target and target.Node are the same pointer.
// Faults: Forbidden data_loss_not_accepted; Conflict node_does_not_hold_tenant, generation_stale,
// lease_not_run_out, no_verified_backup, backup_unknown, migration_in_flight, migration_superseded, and those of Prepare
// for the target; Invalid invalid_text; Exhausted; Internal parties_mismatched.
func Recover(plan RecoverPlan, w Parties, target Candidate, loss Loss, d Deadlines, now time.Time) (*Migration, error) {
	if err := plan.allowed(w.Placement, loss); err != nil {
		return nil, err
	}
	if err := loss.brought(w, target); err != nil {
		return nil, err
	}
	if err := loss.room(target).mayReceive(w.Placement, ""); err != nil {
		return nil, err
	}
	p := *w.Placement
	prior, err := loss.supersede(plan.ID, now)
	if err != nil {
		return nil, err
	}
	m := &Migration{MigrationRecord{
		ID: plan.ID, Tenant: p.r.Tenant, Kind: Recovery, Source: p.r.Node, Target: target.Node.r.ID,
		State: PhaseCopying, Generation: p.r.Generation,
		ManifestRoot: loss.Backup.Manifest.Root, LastSequence: loss.Backup.Manifest.LastSequence,
		StartedAt: ident.Instant(now), ChangedAt: ident.Instant(now),
		DataLoss: &DataLoss{LastBackupAt: loss.Backup.At, LastSequence: loss.Backup.Manifest.LastSequence},
	}}
	if err := p.step(enterRecover, now); err != nil {
		return nil, err
	}
	m.note("recover", "off "+plan.LostNode+", to "+m.r.Target, now)
	m.arm(d, now)
	p.join(&m.r)
	loss.release(w, prior)
	*w.Placement = p
	w.Source.touch()
	target.Node.reserve()
	return m, nil
}

func (plan RecoverPlan) allowed(p *Placement, loss Loss) error {
	switch {
	case !plan.AcceptDataLoss:
		return fault.New(fault.Forbidden, "data_loss_not_accepted", "what was written after the last backup will be gone").
			At("accept_data_loss").Curable("read when the last backup was taken, then say accept_data_loss: true")
	case !p.Holds(plan.LostNode):
		return fault.New(fault.Conflict, "node_does_not_hold_tenant", "node %s does not hold the tenant", plan.LostNode).
			At("lost_node")
	case p.r.Generation != plan.Generation:
		return fault.New(fault.Conflict, "generation_stale", "the placement is at another generation than the one named").
			At("generation").Curable("read the tenant again")
	case p.r.State == Copying || p.r.State == Switching:
		return inFlight(p)
	case loss.Lease.Live():
		return fault.New(fault.Conflict, "lease_not_run_out", "node %s may still write: its lease has not run out by the control plane's count",
			plan.LostNode).Curable("wait until the node counts as offline")
	case loss.Backup == nil:
		return fault.New(fault.Conflict, "no_verified_backup", "there is no verified backup of the tenant to recover from")
	case plan.Backup != "" && plan.Backup != loss.Backup.Manifest.Root:
		return fault.New(fault.Conflict, "backup_unknown", "the last verified backup is another one").At("backup")
	}
	return fault.All(text("id", plan.ID, 1, 64))
}

// brought refuses rows that do not belong to the recover, and those whose counters can not grow.
func (loss Loss) brought(w Parties, target Candidate) error {
	p := w.Placement.r
	mismatched := func(what string) *fault.Error {
		return fault.New(fault.Internal, "parties_mismatched", "%s is not of tenant %s and node %s", what, p.Tenant, p.Node)
	}
	switch {
	case loss.Lease.r.Node != p.Node:
		return mismatched("the lease")
	case loss.Backup.Tenant != p.Tenant:
		return mismatched("the backup")
	case p.Migration != "" && loss.Prior == nil:
		return mismatched("no migration")
	}
	if err := fault.All(w.Source.is(p.Node)); err != nil {
		return err
	}
	if loss.Prior == nil {
		return fault.All(w.Source.exhausted(), target.Node.exhausted())
	}
	if err := loss.Prior.bound(w.Placement); err != nil {
		return err
	}
	if err := fault.All(w.Target.is(loss.Prior.peer(p.Node))); err != nil {
		return err
	}
	if w.Target.r.ID == target.Node.r.ID && w.Target != target.Node {
		return mismatched("the second row of the target")
	}
	return fault.All(w.Source.exhausted(), w.Target.exhausted(), target.Node.exhausted())
}

// peer is the other node of the migration.
func (m *Migration) peer(node string) string {
	if node == m.r.Source {
		return m.r.Target
	}
	return m.r.Source
}

// reserving says whether the migration holds room on its target that the recover gives back: it has not switched.
func (loss Loss) reserving() bool { return loss.Prior != nil && loss.Prior.r.State != PhaseDraining }

// room is the target as it will be once the prior migration gave back what it reserved there.
func (loss Loss) room(target Candidate) Candidate {
	n := *target.Node
	if loss.reserving() && loss.Prior.r.Target == n.r.ID {
		n.unreserve()
	}
	return Candidate{Node: &n, Lease: target.Lease}
}

// supersede ends the migration that ran when its node was lost, on copies; nil where there is none.
func (loss Loss) supersede(by string, now time.Time) (*Migration, error) {
	if loss.Prior == nil {
		return nil, nil //nolint:nilnil // there is no migration to end
	}
	prior := RestoreMigration(loss.Prior.r)
	if err := prior.step(mSupersede, now, "by recover "+by); err != nil {
		return nil, err
	}
	prior.r.Failure = &Failure{Step: "superseded", Reason: "by recover " + by}
	return prior, nil
}

// release makes the prior migration's end true: its other node is freed of it.
func (loss Loss) release(w Parties, prior *Migration) {
	if prior == nil {
		return
	}
	if loss.reserving() {
		w.Target.unreserve()
	} else {
		w.Target.touch()
	}
	*loss.Prior = *prior
}
