package placement

import (
	"slices"
	"strings"
	"testing"

	"berth/domain/fault"
)

// The machines, written down once more so that a changed edge is seen. One line is "from, event, to".
const (
	placementMachine = `
active, begin, quiescing
quiescing, quiesced, copying
copying, copied, switching
switching, switch, draining
draining, drained, active
draining, drain deadline, active
quiescing, abort, active
copying, abort, active
switching, abort, active
active, recover, copying
quiescing, recover, copying
draining, recover, copying`

	migrationMachine = `
preparing, quiesce, quiescing
quiescing, quiesced, copying
copying, copied, switching
switching, switch, draining
draining, drained, done
draining, drain deadline, done
preparing, abort, aborted
quiescing, abort, aborted
copying, abort, aborted
switching, abort, aborted
preparing, fail, failed
quiescing, fail, failed
copying, fail, failed
switching, fail, failed
preparing, supersede, failed
quiescing, supersede, failed
draining, supersede, failed`

	nodeMachine = `
joining, register, active
active, register, active
draining, register, draining
active, drain, draining
draining, activate, active
joining, retire, retired
active, retire, retired
draining, retire, retired`

	purgeMachine = `
scheduled, grace over, deleting
deleting, all attested, done
scheduled, cancel, cancelled`
)

func edgesOf(text string) (out []Edge) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		f := strings.Split(strings.TrimSpace(line), ", ")
		out = append(out, Edge{f[0], f[1], f[2]})
	}
	return out
}

// walk tries every event in every state: try puts the machine into the state, steps it, and says where it stands and
// whether anything else of it changed.
func walk(t *testing.T, table string, states, events []string, try func(state, event int) (to string, same bool, err error)) {
	t.Helper()
	edges := edgesOf(table)
	for s, from := range states {
		for e, event := range events {
			to, same, err := try(s, e)
			i := slices.IndexFunc(edges, func(x Edge) bool { return x.From == from && x.Event == event })
			switch {
			case i >= 0 && (err != nil || to != edges[i].To):
				t.Errorf("%s in %s: got %s and %v, want %s", event, from, to, err, edges[i].To)
			case i < 0 && (fault.KindOf(err) != fault.Conflict || to != from || !same):
				t.Errorf("%s in %s is no edge: got %s, unchanged %t and %v", event, from, to, same, err)
			}
		}
	}
}

func TestPlacementStepsExactlyAlongItsTable(t *testing.T) {
	t.Parallel()
	walk(t, placementMachine, stateNames[:], eventNames[:], func(s, e int) (string, bool, error) {
		before := Record{Tenant: "acme", Node: "a", Generation: 3, Version: 7, State: State(s), ChangedAt: at(0)}
		p := Restore(before)
		err := p.step(event(e), at(1))
		if err == nil && p.Record().Version != 8 {
			t.Errorf("%s in %s: version %d, want one more than 7", eventNames[e], stateNames[s], p.Record().Version)
		}
		return p.Record().State.String(), p.Record() == before, err
	})
}

func TestMigrationStepsExactlyAlongItsTable(t *testing.T) {
	t.Parallel()
	states := phaseNames[PhasePreparing:]
	walk(t, migrationMachine, states, migrationEventNames[:], func(s, e int) (string, bool, error) {
		m := RestoreMigration(MigrationRecord{ID: "mig_1", State: PhasePreparing + Phase(s), Deadline: at(9)})
		err := m.step(migrationEvent(e), at(1), "")
		r := m.Record()
		if ended := r.State >= PhaseDone; err == nil && (ended == r.EndedAt.IsZero() || ended != r.Deadline.IsZero()) {
			t.Errorf("%s: ended at %v, deadline %v", r.State, r.EndedAt, r.Deadline)
		}
		return r.State.String(), len(r.Steps) == 0 && r.ChangedAt.IsZero() && r.EndedAt.IsZero(), err
	})
}

func TestNodeStepsExactlyAlongItsTable(t *testing.T) {
	t.Parallel()
	walk(t, nodeMachine, nodeStatusNames[:], nodeEventNames[:], func(s, e int) (string, bool, error) {
		before := NodeRecord{ID: "a", Status: NodeStatus(s), ChangedAt: at(0)}
		n := RestoreNode(before)
		err := n.step(nodeEvent(e), at(1))
		return n.Record().Status.String(), n.Record() == before, err
	})
}

func TestPurgeStepsExactlyAlongItsTable(t *testing.T) {
	t.Parallel()
	walk(t, purgeMachine, purgeStateNames[:], purgeEventNames[:], func(s, e int) (string, bool, error) {
		u := RestorePurge(PurgeRecord{ID: "purge_1", State: PurgeState(s)})
		err := u.step(purgeEvent(e), at(1))
		return u.Record().State.String(), u.Record().EndedAt.IsZero(), err
	})
}

// What the documents draw is what runs.
func TestDiagramsAreTheTables(t *testing.T) {
	t.Parallel()
	for table, diagram := range map[string][]Edge{
		placementMachine: Diagram(), migrationMachine: MigrationDiagram(), nodeMachine: NodeDiagram(), purgeMachine: PurgeDiagram(),
	} {
		if want := edgesOf(table); !slices.Equal(diagram, want) {
			t.Errorf("got %v, want %v", diagram, want)
		}
	}
}

// A migration is a record around the placement's five states: each of its edges is an edge of the placement, or none
// where it only gives up a preparation; and the placement has no edge that no migration takes (P1).
func TestMigrationMachineProjectsOntoThePlacementMachine(t *testing.T) {
	t.Parallel()
	event := map[string]string{
		"quiesce": "begin", "quiesced": "quiesced", "copied": "copied", "switch": "switch", "drained": "drained",
		"drain deadline": "drain deadline", "abort": "abort", "fail": "abort", "supersede": "recover",
	}
	projected := map[Edge]bool{}
	for _, e := range MigrationDiagram() {
		p := Edge{settled(e.From), event[e.Event], settled(e.To)}
		if p.Event == "recover" {
			p.To = "copying" // where the recover that superseded this migration enters
		}
		if p.From != p.To { // an abort in preparing ends the binding only
			projected[p] = true
		}
	}
	actual := map[Edge]bool{}
	for _, e := range Diagram() {
		actual[e] = true
		if !projected[e] {
			t.Errorf("no migration takes the placement's edge %v", e)
		}
	}
	for e := range projected {
		if !actual[e] {
			t.Errorf("a migration takes %v, which is no edge of the placement", e)
		}
	}
}

// settled is the placement's state while a migration is in a phase.
func settled(phase string) string {
	switch phase {
	case "preparing", "done", "aborted", "failed":
		return "active"
	}
	return phase
}
