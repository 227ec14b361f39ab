package relay

import (
	"net/http"
	"sync"
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// A tenant passes every state of a migration, each party is told its part, and the generation grows by exactly one at
// the switch (P1–P7).
func TestMigrationInFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.show().Placement
	m := w.begin()
	m.Expect("preparing", "active", m.Source.ID, before.Generation)
	m.Prepare()
	m.Expect("quiescing", "quiescing", m.Source.ID, before.Generation)
	if a := m.Source.Assignments()["acme"]; a.Role != "source" || a.State != "quiescing" || a.Migration.ID != m.ID {
		t.Fatalf("the source is told %+v", a)
	}
	m.Quiesce()
	m.Expect("copying", "copying", m.Source.ID, before.Generation)
	if a := m.Target.Assignments()["acme"]; a.Role != "target" || a.Migration.ManifestRoot != m.Manifest || *a.Migration.LastSequence != m.Sequence {
		t.Fatalf("the target is told %+v", a)
	}
	m.Copy()
	m.Expect("draining", "draining", m.Target.ID, before.Generation+1)
	m.Drain()
	m.Expect("done", "active", m.Target.ID, before.Generation+1)
	if _, still := m.Source.Assignments()["acme"]; still {
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
		w.Operator("POST", m.AbortPath(), nil, 200, nil)
		after := w.show().Placement
		if m.Show().State != "aborted" || after.State != "active" || after.Node != before.Node ||
			after.Generation != before.Generation || after.Version <= before.Version {
			t.Fatalf("aborted while %s: %+v, before %+v", last.state, after, before)
		}
		m.Source.Refused("POST", m.Path("quiesced"), contract.Quiesced{
			Generation: m.Generation, LastSequence: 1, ManifestRoot: harness.Root(9),
		}, http.StatusNotFound, "not_found")
		w.Operator("POST", m.AbortPath(), nil, 200, nil)
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
	m.Prepare()
	m.Quiesce()
	m.Copy()
	w.Refused("POST", m.AbortPath(), nil, http.StatusConflict, "migration_state_conflict")
	m.Drain()
	m.Expect("done", "active", m.Target.ID, m.Generation+1)
}

// Of an abort and a copied report that race exactly one wins, and the placement is what the winner says (P5).
func TestAbortRacingCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wins := map[string]int{}
	for range raceRounds {
		m := w.begin()
		m.Prepare()
		m.Quiesce()
		var aborted, copied int
		var both sync.WaitGroup
		both.Go(func() { aborted = w.Do(w.Token, "POST", m.AbortPath(), nil).Status })
		both.Go(func() { copied = m.Target.Do("POST", m.Path("copied"), m.Report()).Status })
		both.Wait()
		state := m.Show().State
		wins[state]++
		switch {
		case state == "aborted" && aborted == 200:
			m.Expect("aborted", "active", m.Source.ID, m.Generation)
		case state == "draining" && copied == 204 && aborted == 409:
			m.Drain()
			m.Expect("done", "active", m.Target.ID, m.Generation+1)
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
		if n != m.Source.ID && n != m.Target.ID {
			third = w.nodes[n]
		}
	}
	third.Refused("POST", m.Path("prepared"), contract.Prepared{}, 404, "not_found")
	m.Prepare()
	quiesced := contract.Quiesced{Generation: m.Generation, LastSequence: m.Sequence, ManifestRoot: m.Manifest}
	m.Target.Refused("POST", m.Path("quiesced"), quiesced, 404, "not_found")
	stale := quiesced
	stale.Generation++
	m.Source.Refused("POST", m.Path("quiesced"), stale, 409, "generation_stale")
	m.Source.Refused("POST", "/migrations/mig_none/quiesced", quiesced, 404, "not_found")
	m.Quiesce()
	m.Quiesce()
	other := quiesced
	other.ManifestRoot = harness.Root(7)
	m.Source.Refused("POST", m.Path("quiesced"), other, 409, "manifest_root_differs")
	wrong := m.Report()
	wrong.ManifestRoot = harness.Root(7)
	m.Target.Refused("POST", m.Path("copied"), wrong, 409, "manifest_root_differs")
	if s := m.Show().Steps; s[len(s)-1].Name != "copied refused" {
		t.Fatalf("the reason is not kept: %+v", s)
	}
	m.Copy()
	m.Copy()
	m.Drain()
	m.Drain()
	m.Expect("done", "active", m.Target.ID, m.Generation+1)
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
	w.Refused("POST", path, contract.NewMigration{TargetNode: m.Target.ID}, 409, "migration_in_flight")
}
