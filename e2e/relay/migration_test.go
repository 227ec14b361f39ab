package relay

import (
	"net/http"
	"sync"
	"testing"

	"berth/adapters/contract"
)

// A tenant passes every state of a migration, each party is told its part, and the generation grows by exactly one at
// the switch (P1–P7).
func TestMigrationInFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.show().Placement
	m := w.begin()
	w.expect(t, m, "preparing", "active", m.source.ID, before.Generation)
	m.prepare()
	w.expect(t, m, "quiescing", "quiescing", m.source.ID, before.Generation)
	if a := m.source.Assignments()["acme"]; a.Role != "source" || a.State != "quiescing" || a.Migration.ID != m.id {
		t.Fatalf("the source is told %+v", a)
	}
	m.quiesce()
	w.expect(t, m, "copying", "copying", m.source.ID, before.Generation)
	if a := m.target.Assignments()["acme"]; a.Role != "target" || a.Migration.ManifestRoot != m.manifest || *a.Migration.LastSequence != m.sequence {
		t.Fatalf("the target is told %+v", a)
	}
	m.copy()
	w.expect(t, m, "draining", "draining", m.target.ID, before.Generation+1)
	m.drain()
	w.expect(t, m, "done", "active", m.target.ID, before.Generation+1)
	if _, still := m.source.Assignments()["acme"]; still {
		t.Fatal("the source is still told of a tenant that left it")
	}
	if after := w.show().Placement; after.Version <= before.Version+4 {
		t.Fatalf("the placement version went from %d to %d in six changes (P15)", before.Version, after.Version)
	}
	var verdict contract.AuditVerdict
	w.Operator("GET", "/api/v1/audit/verify", nil, 200, &verdict)
	if !verdict.Whole {
		t.Fatalf("the audit chain is broken: %+v", verdict)
	}
}

func (w *world) expect(t *testing.T, m *move, migration, state, node string, generation int64) {
	t.Helper()
	p, got := w.show().Placement, m.show().State
	if got != migration || p.State != state || p.Node != node || p.Generation != generation {
		t.Fatalf("migration %s, placement %s on %s at %d; want %s, %s on %s at %d",
			got, p.State, p.Node, p.Generation, migration, state, node, generation)
	}
}

// In each state before the switch an abort returns the tenant to its source at the same generation, with a higher
// placement version (P6, P15); what the nodes then still report is refused.
func TestAbortInEachEarlyState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, last := range steps {
		before := w.show().Placement
		m := w.begin()
		for _, s := range steps[:i+1] {
			s.enter(m)
		}
		w.Operator("POST", m.abortPath(), nil, 200, nil)
		after := w.show().Placement
		if m.show().State != "aborted" || after.State != "active" || after.Node != before.Node ||
			after.Generation != before.Generation || after.Version <= before.Version {
			t.Fatalf("aborted while %s: %+v, before %+v", last.state, after, before)
		}
		m.source.Refused("POST", m.path("quiesced"), contract.Quiesced{
			Generation: m.generation, LastSequence: 1, ManifestRoot: root(9),
		}, http.StatusNotFound, "not_found")
		w.Operator("POST", m.abortPath(), nil, 200, nil)
		if again := w.show().Placement; again.Version != after.Version {
			t.Fatalf("aborting again changed %+v to %+v", after, again)
		}
	}
}

// After the switch there is no way back (P6).
func TestAbortAfterTheSwitchIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin()
	m.prepare()
	m.quiesce()
	m.copy()
	w.Refused("POST", m.abortPath(), nil, http.StatusConflict, "migration_state_conflict")
	m.drain()
	w.expect(t, m, "done", "active", m.target.ID, m.generation+1)
}

// Of an abort and a copied report that race exactly one wins, and the placement is what the winner says (P5).
func TestAbortRacingCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wins := map[string]int{}
	for range raceRounds {
		m := w.begin()
		m.prepare()
		m.quiesce()
		var aborted, copied int
		var both sync.WaitGroup
		both.Go(func() { aborted = w.Do(w.Token, "POST", m.abortPath(), nil).Status })
		both.Go(func() { copied = m.target.Do("POST", m.path("copied"), m.report()).Status })
		both.Wait()
		state := m.show().State
		wins[state]++
		switch {
		case state == "aborted" && aborted == 200:
			w.expect(t, m, "aborted", "active", m.source.ID, m.generation)
		case state == "draining" && copied == 204 && aborted == 409:
			m.drain()
			w.expect(t, m, "done", "active", m.target.ID, m.generation+1)
		default:
			t.Fatalf("state %s, abort answered %d, copied answered %d", state, aborted, copied)
		}
		for _, n := range w.nodes {
			n.Beat()
		}
	}
	t.Logf("%d rounds ended as %v", raceRounds, wins)
}

const raceRounds = 200

// Reports are taken from the right node, migration and generation only, once with effect; a repeat changes nothing, and
// another manifest is refused with the reason kept (P3, P4, P16, §14).
func TestReportsAreBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin()
	third := w.nodes["c"]
	for _, n := range []string{"a", "b", "c"} {
		if n != m.source.ID && n != m.target.ID {
			third = w.nodes[n]
		}
	}
	third.Refused("POST", m.path("prepared"), contract.Prepared{}, 404, "not_found")
	m.prepare()
	quiesced := contract.Quiesced{Generation: m.generation, LastSequence: m.sequence, ManifestRoot: m.manifest}
	m.target.Refused("POST", m.path("quiesced"), quiesced, 404, "not_found")
	stale := quiesced
	stale.Generation++
	m.source.Refused("POST", m.path("quiesced"), stale, 409, "generation_stale")
	m.source.Refused("POST", "/migrations/mig_none/quiesced", quiesced, 404, "not_found")
	m.quiesce()
	m.quiesce()
	other := quiesced
	other.ManifestRoot = root(7)
	m.source.Refused("POST", m.path("quiesced"), other, 409, "manifest_root_differs")
	wrong := m.report()
	wrong.ManifestRoot = root(7)
	m.target.Refused("POST", m.path("copied"), wrong, 409, "manifest_root_differs")
	if s := m.show().Steps; s[len(s)-1].Name != "copied refused" {
		t.Fatalf("the reason is not kept: %+v", s)
	}
	m.copy()
	m.copy()
	m.drain()
	m.drain()
	w.expect(t, m, "done", "active", m.target.ID, m.generation+1)
}

// A target must be another node, online, schedulable, with room, in the home region (P2).
func TestTargetsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: "us", Origin: "https://us.relay.test"}, 201, nil)
	w.NewNode("far", "us", 10)
	w.NewNode("full", "eu", 0)
	w.DefineNode("silent", "eu", 10)
	cordoned := w.NewNode("cordoned", "eu", 10)
	off := false
	w.Operator("PATCH", "/api/v1/nodes/"+cordoned.ID, contract.NodeChange{Schedulable: &off}, 200, nil)
	path := "/api/v1/tenants/acme/migrations"
	for target, slug := range map[string]string{
		w.holder().ID: "target_is_source", "far": "target_in_another_region", "full": "target_full",
		"silent": "target_not_available", "cordoned": "target_not_available",
	} {
		w.Refused("POST", path, contract.NewMigration{TargetNode: target}, 409, slug)
	}
	w.Refused("POST", path, contract.NewMigration{TargetNode: "nowhere"}, 404, "node_not_found")
	w.Refused("POST", path, contract.NewMigration{TargetNode: "far", Rehome: "eu"}, 422, "rehome_mismatch")
	m := w.begin()
	w.Refused("POST", path, contract.NewMigration{TargetNode: m.target.ID}, 409, "migration_in_flight")
}
