package placement

import (
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Reporter says which node reports and at which generation. Prepared, Copied and Reported come in forms that carry no
// generation (API.md): 0 stands for that, and the migration id alone then has to match, which is enough since a
// migration knows exactly one (the model's M07b). Everything else names its generation (P16).
type Reporter struct {
	Node       string
	Generation int64
}

// or fills in the generation that the report's form left out.
func (r Reporter) or(generation int64) Reporter {
	if r.Generation == 0 {
		r.Generation = generation
	}
	return r
}

// Manifest names a snapshot: its Merkle root as 64 hex digits and the Engine's last committed sequence in it (P3).
type Manifest struct {
	Root         string
	LastSequence int64
}

// Check refuses what is no manifest. Faults: Invalid invalid_manifest_root, out_of_range.
func (f Manifest) Check() error {
	return fault.All(checkRoot(f.Root), ident.Counter("last_sequence", f.LastSequence))
}

func checkRoot(root string) *fault.Error {
	ok := len(root) == 64
	for i := 0; ok && i < len(root); i++ {
		c := root[i]
		ok = c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
	}
	if ok {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_manifest_root", "a manifest root is 64 lower-case hex digits").At("manifest_root")
}

func (m *Migration) from(r Reporter, role Role, generation int64) error {
	if m.RoleOf(r.Node) != role {
		return fault.New(fault.Forbidden, "wrong_reporter", "only the %s of the migration reports this", role)
	}
	if r.Generation != generation {
		return fault.New(fault.Conflict, "generation_stale", "the report is of generation %d, the migration of another",
			r.Generation).Curable("take the assignments again")
	}
	return nil
}

// Prepared notes that a node copied (source) or installed (target) the base ahead (P1). It says whether both have. The
// same report again changes nothing.
func (m *Migration) Prepared(w Parties, r Reporter, baseSequence int64, now time.Time) (both bool, err error) {
	side, err := m.side(r)
	if err != nil {
		return false, err
	}
	if m.r.State != PhasePreparing {
		return false, fault.New(fault.Conflict, "migration_state_conflict", "a migration that is %s is not preparing", m.r.State)
	}
	if err := fault.All(ident.Counter("base_sequence", baseSequence), dated(now)); err != nil {
		return false, err
	}
	if err := m.bound(w.Placement); err != nil {
		return false, err
	}
	done := &m.r.SourcePrepared
	if side == RoleTarget {
		done = &m.r.TargetPrepared
	}
	if !*done || baseSequence > m.r.BaseSequence {
		*done = true
		m.r.BaseSequence = max(m.r.BaseSequence, baseSequence)
		m.r.ChangedAt = ident.Instant(now)
		m.remark("prepared", r.Node, now)
	}
	return m.r.SourcePrepared && m.r.TargetPrepared, nil
}

// side judges a report that either node may send.
func (m *Migration) side(r Reporter) (Role, error) {
	role := m.RoleOf(r.Node)
	if role == RoleStranger {
		return role, fault.New(fault.Forbidden, "wrong_reporter", "only source and target report this")
	}
	return role, m.from(r.or(m.r.Generation), role, m.r.Generation)
}

// Quiesced takes the source's word that its Engine refuses and drained every write, and what the snapshot behind the
// fence is (P3). The first accepted report wins: the same one again changes nothing, another root is refused (§14).
func (m *Migration) Quiesced(w Parties, r Reporter, f Manifest, d Deadlines, now time.Time) error {
	if err := m.from(r, RoleSource, m.r.Generation); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	if m.r.Kind == Move && m.r.State >= PhaseCopying && m.r.State <= PhaseDone {
		return m.same(f)
	}
	if err := m.advance(w, mQuiesced, quiesced, "sequence and root reported by "+r.Node, now); err != nil {
		return err
	}
	m.r.ManifestRoot, m.r.LastSequence = f.Root, f.LastSequence
	w.Placement.join(&m.r)
	m.arm(d, now)
	return nil
}

func (m *Migration) same(f Manifest) error {
	if f.Root != m.r.ManifestRoot {
		return fault.New(fault.Conflict, "manifest_root_differs", "the migration is bound to another manifest root").
			At("manifest_root")
	}
	if f.LastSequence != m.r.LastSequence {
		return fault.New(fault.Conflict, "last_sequence_differs", "the migration is bound to another last sequence").
			At("last_sequence")
	}
	return nil
}

// Copied takes the target's word that it verified and durably installed exactly the manifest of P3 (P4). A difference
// refuses the step, and the reason is kept: the migration then holds a note that is to be stored although a fault is
// returned. The same report again changes nothing.
func (m *Migration) Copied(w Parties, r Reporter, f Manifest, now time.Time) error {
	if err := m.from(r.or(m.r.Generation), RoleTarget, m.r.Generation); err != nil {
		return err
	}
	if err := f.Check(); err != nil {
		return err
	}
	switch m.r.State { //nolint:exhaustive // every other state is refused by the machine below
	case PhaseSwitching, PhaseDraining, PhaseDone:
		return m.same(f)
	case PhaseCopying:
		if err := m.same(f); err != nil {
			m.remark("copied refused", fault.SlugOf(err), now)
			return err
		}
	}
	return m.advance(w, mCopied, copied, "verified by "+r.Node, now)
}

// Drained takes the source's word that it closed its last connection and sealed its copy (P7). The report carries the
// new generation (§14). The same report again changes nothing.
func (m *Migration) Drained(w Parties, r Reporter, now time.Time) error {
	if err := m.from(r, RoleSource, m.r.Generation+1); err != nil {
		return err
	}
	if m.r.State == PhaseDone {
		return nil
	}
	return m.end(w, mDrained, drained, now)
}

// Reported takes a node's word that it can not do its step: the migration fails where it still can (P6).
func (m *Migration) Reported(w Parties, r Reporter, step, reason string, now time.Time) error {
	if _, err := m.side(r); err != nil {
		return err
	}
	if m.r.State == PhaseFailed {
		return nil
	}
	return m.Fail(w, step, r.Node+": "+reason, now)
}

// Action is what the control plane owes a migration.
type Action uint8

// The actions of a sweep.
const (
	Wait Action = iota
	DoQuiesce
	DoSwitch
	DoFail
	DoEndDrain
)

// Due says what the sweep is to do with a migration now: carry it over the switch, quiesce it once prepared, or end
// what passed its deadline (P2, P5–P7). sourceLive is the state of the source's lease.
func (m *Migration) Due(d Deadlines, sourceLive bool, now time.Time) Action {
	late := !m.r.Deadline.IsZero() && !now.Before(m.r.Deadline)
	switch m.r.State { //nolint:exhaustive // an ended migration is owed nothing
	case PhasePreparing:
		return m.duePreparing(d, late)
	case PhaseQuiescing, PhaseCopying:
		if late {
			return DoFail
		}
	case PhaseSwitching:
		return DoSwitch
	case PhaseDraining:
		if late && !sourceLive {
			return DoEndDrain
		}
	}
	return Wait
}

func (m *Migration) duePreparing(d Deadlines, late bool) Action {
	switch {
	case m.r.SourcePrepared && m.r.TargetPrepared, late && d.QuiesceUnprepared:
		return DoQuiesce
	case late:
		return DoFail
	}
	return Wait
}
