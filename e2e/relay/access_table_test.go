package relay

import (
	"fmt"
	"slices"
	"testing"

	"berth/adapters/contract"
	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/e2e/harness"
)

// probes ask for an operation in a way that changes nothing even where it is allowed: a report names a generation that
// is not the migration's, a revoke a principal that is not there.
var probes = map[authorization.Operation]func(n *harness.Node, m *harness.Move) harness.Answer{
	authorization.OpSnapshot: func(n *harness.Node, _ *harness.Move) harness.Answer {
		return n.Do("GET", "/tenants/acme/authorization?generation=1", nil)
	},
	authorization.OpDelta: func(n *harness.Node, _ *harness.Move) harness.Answer {
		return n.Do("GET", "/tenants/acme/authorization/delta?generation=1&since=1", nil)
	},
	authorization.OpRoute: func(n *harness.Node, _ *harness.Move) harness.Answer { return n.Do("GET", "/tenants/acme/route", nil) },
	authorization.OpRevoke: func(n *harness.Node, _ *harness.Move) harness.Answer {
		return n.Do("POST", "/tenants/acme/principals/prn_none/revoke", contract.NodeRevoke{Generation: 1, AskedBy: "prn_none"})
	},
	authorization.OpBackupRecord: func(n *harness.Node, _ *harness.Move) harness.Answer {
		return n.Do("POST", "/tenants/acme/backups", contract.NewBackup{Generation: 77, ManifestRoot: harness.Root(1)})
	},
	authorization.OpPrepared: func(n *harness.Node, m *harness.Move) harness.Answer {
		return n.Do("POST", m.Path("prepared"), contract.Prepared{Generation: 77})
	},
	authorization.OpQuiesced: func(n *harness.Node, m *harness.Move) harness.Answer {
		return n.Do("POST", m.Path("quiesced"), contract.Quiesced{Generation: 77, ManifestRoot: harness.Root(1)})
	},
	authorization.OpCopied: func(n *harness.Node, m *harness.Move) harness.Answer {
		return n.Do("POST", m.Path("copied"), contract.Copied{Generation: 77, ManifestRoot: harness.Root(1)})
	},
	authorization.OpDrained: func(n *harness.Node, m *harness.Move) harness.Answer {
		return n.Do("POST", m.Path("drained"), contract.Drained{Generation: 77})
	},
	authorization.OpFailed: func(n *harness.Node, m *harness.Move) harness.Answer {
		return n.Do("POST", m.Path("failed"), contract.Failed{Generation: 77, Step: "probe", Reason: "probe"})
	},
}

// ofMigration are the operations that are judged by the migration; the others are judged by the placement.
var ofMigration = []authorization.Operation{
	authorization.OpPrepared, authorization.OpQuiesced, authorization.OpCopied, authorization.OpDrained, authorization.OpFailed,
}

// The access table is what the server does, row by row, for every role in every phase that can be watched from outside;
// switching is left by the control plane itself before anyone can look. What is denied is the one answer of I8.
func TestAccessTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.holder()
	w.walk(t, placement.PhaseActive, nil, map[placement.Role]*harness.Node{
		placement.RoleOwner: owner, placement.RoleStranger: w.other(),
	})
	m := w.begin()
	parties := map[placement.Role]*harness.Node{placement.RoleSource: m.Source, placement.RoleTarget: m.Target}
	for id, n := range w.nodes {
		if id != m.Source.ID && id != m.Target.ID {
			parties[placement.RoleStranger] = n
		}
	}
	for _, step := range []struct {
		phase placement.Phase
		enter func(*harness.Move)
	}{
		{placement.PhasePreparing, func(*harness.Move) {}},
		{placement.PhaseQuiescing, (*harness.Move).Prepare},
		{placement.PhaseCopying, (*harness.Move).Quiesce},
		{placement.PhaseDraining, (*harness.Move).Copy},
		{placement.PhaseDone, (*harness.Move).Drain},
	} {
		step.enter(m)
		w.walk(t, step.phase, m, parties)
	}
	for phase, end := range map[placement.Phase]func(*harness.Move){
		placement.PhaseAborted: func(m *harness.Move) { w.Operator("POST", m.AbortPath(), nil, 200, nil) },
		placement.PhaseFailed: func(m *harness.Move) {
			m.Source.Call("POST", m.Path("failed"), contract.Failed{Step: "prepare", Reason: "disk"}, 204, nil)
		},
	} {
		m := w.begin()
		end(m)
		w.walk(t, phase, m, map[placement.Role]*harness.Node{placement.RoleSource: m.Source, placement.RoleTarget: m.Target})
	}
}

func (w *world) walk(t *testing.T, phase placement.Phase, m *harness.Move, nodes map[placement.Role]*harness.Node) {
	t.Helper()
	for _, row := range authorization.AccessTable() {
		probe, there := probes[row.Operation]
		migrational := slices.Contains(ofMigration, row.Operation)
		if !there || (m == nil && migrational) || (phase >= placement.PhaseDone && !migrational) {
			continue
		}
		for role, n := range nodes {
			name := fmt.Sprintf("%s by the %s while %s", row.Operation, role, phase)
			allowed := slices.Contains(row.Cells[phase].Roles, role)
			a := probe(n, m)
			if denied := a.Status == 404 && a.Slug() == "not_found"; denied == allowed {
				t.Errorf("%s: allowed is %v, the answer %d %s", name, allowed, a.Status, a.Body)
			}
		}
	}
}
