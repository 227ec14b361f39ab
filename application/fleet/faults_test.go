package fleet_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"berth/application/fleet"
	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// useCase is one use case in a world in which it has something to do.
type useCase struct {
	name  string
	reads bool // it changes nothing
	ready func(w *world)
	do    func(w *world) error
}

// theMigration is the one that a use case's ready began.
const theMigration = "mig_00000000000000000000000001"

func moving(to placement.Phase) func(*world) {
	return func(w *world) {
		w.begin("acme", "b")
		w.carry(theMigration, "a", "b", to)
	}
}

func nothing(*world) {}

func useCases() []useCase {
	node := func(id string) fleet.NodeRequest { return fleet.NodeRequest{Actor: alice, Node: id} }
	yes := true
	return []useCase{
		{"CreateRegion", false, nothing, func(w *world) error {
			_, err := w.CreateRegion(w.ctx, fleet.CreateRegionRequest{Actor: alice, ID: "us", Origin: "https://us.example.test"})
			return err
		}},
		{"Regions", true, nothing, func(w *world) error { _, err := w.Regions(w.ctx, store.Page{}); return err }},
		{"CreateNode", false, nothing, func(w *world) error {
			_, err := w.CreateNode(w.ctx, fleet.CreateNodeRequest{Actor: alice, ID: "c", Region: "eu"})
			return err
		}},
		{"Node", true, nothing, func(w *world) error { _, err := w.Node(w.ctx, "a"); return err }},
		{"Nodes", true, nothing, func(w *world) error { _, err := w.Nodes(w.ctx, fleet.NodesRequest{}); return err }},
		{"ChangeNode", false, nothing, func(w *world) error {
			_, err := w.ChangeNode(w.ctx, fleet.ChangeNodeRequest{Actor: alice, Node: "a", Schedulable: &yes})
			return err
		}},
		{"DrainNode", false, nothing, func(w *world) error { _, err := w.DrainNode(w.ctx, node("a")); return err }},
		{"ActivateNode", false, func(w *world) { w.drain("a") }, func(w *world) error {
			_, err := w.ActivateNode(w.ctx, node("a"))
			return err
		}},
		{"ReplaceStorage", false, func(w *world) { w.lapseOf("b", "a") }, func(w *world) error {
			_, err := w.ReplaceStorage(w.ctx, node("b"))
			return err
		}},
		{"RetireNode", false, nothing, func(w *world) error { _, err := w.RetireNode(w.ctx, node("b")); return err }},
		{"Register", false, nothing, func(w *world) error {
			_, err := w.Register(w.ctx, fleet.RegisterRequest{
				Caller: caller("a"), Ticket: w.ticket(), Registration: placement.Registration{BootID: "boot-2", StorageID: "disk-a"},
			})
			return err
		}},
		{"Heartbeat", false, nothing, func(w *world) error { _, err := w.tryBeat("a"); return err }},
		{"Assignments", true, nothing, func(w *world) error { _, err := w.assignments("a", 0, time.Second); return err }},
		{"Place", false, nothing, func(w *world) error { _, err := w.tryTenant("new", "eu"); return err }},
		{"Place, queued", false, func(w *world) { w.region("us") }, func(w *world) error {
			_, err := w.tryTenant("new", "us")
			return err
		}},
		{"BeginMigration", false, nothing, func(w *world) error {
			_, err := w.BeginMigration(w.ctx, fleet.BeginMigrationRequest{Actor: alice, Tenant: "acme", TargetNode: "b"})
			return err
		}},
		{"AbortMigration", false, moving(placement.PhaseCopying), func(w *world) error { return w.abort("acme", theMigration) }},
		{"Migration", true, moving(placement.PhaseCopying), func(w *world) error {
			_, err := w.Migration(w.ctx, fleet.MigrationRequest{Tenant: "acme", Migration: theMigration})
			return err
		}},
		{"Migrations", true, moving(placement.PhaseCopying), func(w *world) error {
			_, err := w.Migrations(w.ctx, fleet.MigrationsRequest{Tenant: "acme"})
			return err
		}},
		{"Recover", false, func(w *world) {
			w.must(w.recordBackup("a", "acme", 1, snapshot))
			w.lapseOf("a", "b")
		}, func(w *world) error { _, err := w.rescue(nil); return err }},
		{"Prepared", false, moving(placement.PhasePreparing), func(w *world) error { return w.prepared("a", theMigration) }},
		{"Prepared by both", false, func(w *world) {
			w.begin("acme", "b")
			w.must(w.prepared("a", theMigration))
		}, func(w *world) error { return w.prepared("b", theMigration) }},
		{"Quiesced", false, moving(placement.PhaseQuiescing), func(w *world) error {
			return w.quiesced("a", theMigration, 1, snapshot)
		}},
		{"Copied", false, moving(placement.PhaseCopying), func(w *world) error { return w.copied("b", theMigration, snapshot) }},
		{"Drained", false, moving(placement.PhaseDraining), func(w *world) error { return w.drained("a", theMigration, 2) }},
		{"ReportFailure", false, moving(placement.PhaseCopying), func(w *world) error { return w.failed("b", theMigration) }},
		{"RecordBackup", false, nothing, func(w *world) error { return w.recordBackup("a", "acme", 1, snapshot) }},
		{"Route", true, nothing, func(w *world) error {
			_, err := w.Route(w.ctx, fleet.RouteRequest{Caller: caller("b"), Tenant: "acme"})
			return err
		}},
		{"PlacementQueue", true, nothing, func(w *world) error {
			_, err := w.PlacementQueue(w.ctx, fleet.PlacementQueueRequest{})
			return err
		}},
		{"SweepLeases", false, func(w *world) {
			w.must(w.SweepLeases(w.ctx))
			w.clock.Advance(time.Minute)
			w.beat("b")
		}, func(w *world) error { return w.SweepLeases(w.ctx) }},
		{"SweepMigrations", false, moving(placement.PhaseSwitching), func(w *world) error { return w.SweepMigrations(w.ctx) }},
		{"SweepQueue", false, func(w *world) {
			w.region("us")
			w.tenant("new", "us")
			w.node("c", "us", 1)
		}, func(w *world) error { return w.SweepQueue(w.ctx) }},
		{"SweepDrains", false, func(w *world) { w.drain("a") }, func(w *world) error { return w.SweepDrains(w.ctx) }},
	}
}

func (u useCase) world(t *testing.T) *world {
	t.Helper()
	w := twoNodes(t)
	u.ready(w)
	w.hints.Took()
	return w
}

// While the database is away every use case answers Unavailable, hints at nothing, and does its work once it is back.
func TestUseCasesWithoutADatabase(t *testing.T) {
	t.Parallel()
	for _, u := range useCases() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			w := u.world(t)
			before := w.dump()
			w.mem.Inject(storetest.Faults{Begin: storetest.Always(storetest.Unavailable())})
			if err := u.do(w); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("answered %v", err)
			}
			w.noFaults()
			w.same(before, "a use case without a database")
			w.must(u.do(w))
		})
	}
}

// A commit that fails leaves everything as it was, hints at nothing and is never called success.
func TestUseCasesWhoseCommitFails(t *testing.T) {
	t.Parallel()
	for _, u := range useCases() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			w := u.world(t)
			before := w.dump()
			w.failCommitsAfter(0)
			err := u.do(w)
			w.noFaults()
			switch {
			case u.reads:
				w.must(err)
			case fault.KindOf(err) != fault.Unavailable:
				t.Errorf("answered %v", err)
			}
			w.same(before, "a commit that failed")
			w.must(u.do(w))
			if u.reads != reflect.DeepEqual(before, w.dump()) {
				t.Errorf("changed nothing: want %t", u.reads)
			}
		})
	}
}

// A commit whose answer was lost is never called success, and hints at nothing.
func TestUseCasesWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, u := range useCases() {
		if u.reads {
			continue
		}
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			w := u.world(t)
			w.mem.Inject(storetest.Faults{Answer: storetest.Always(storetest.CommitUnknown())})
			if err := u.do(w); fault.SlugOf(err) != "commit_unknown" {
				t.Errorf("answered %v", err)
			}
			if got := w.hints.Took(); len(got) > 0 {
				t.Errorf("hinted at %v", got)
			}
		})
	}
}

// A transaction that the store ran twice, the first time in vain, has the effect of one.
func TestUseCasesRunTwice(t *testing.T) {
	t.Parallel()
	for _, u := range useCases() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			once, twice := u.world(t), u.world(t)
			twice.mem.Inject(storetest.Faults{Twice: true})
			once.must(u.do(once))
			twice.must(u.do(twice))
			if a, b := once.dump(), twice.dump(); !reflect.DeepEqual(a, b) {
				t.Errorf("run once: %+v\nrun twice: %+v", a, b)
			}
			if a, b := once.hints.Took(), twice.hints.Took(); !reflect.DeepEqual(a, b) {
				t.Errorf("run once it hints at %v, run twice at %v", a, b)
			}
		})
	}
}

// Every use case that changes something says who did it in the audit log, in the transaction that did it; heartbeats
// alone are too many for it.
func TestUseCasesAreAudited(t *testing.T) {
	t.Parallel()
	for _, u := range useCases() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			w := u.world(t)
			before := len(w.entries())
			w.must(u.do(w))
			entries := w.entries()[before:]
			if silent := u.reads || u.name == "Heartbeat"; silent != (len(entries) == 0) {
				t.Fatalf("%d entries", len(entries))
			}
			for _, e := range entries {
				d := audit.Draft{At: e.At, Actor: e.Actor, Action: e.Action, Subject: e.Subject, Detail: e.Detail}
				if err := d.Check(); err != nil {
					t.Errorf("%+v: %v", e, err)
				}
			}
		})
	}
}

// One proof of identity counts once: a replayed request of a node is refused before anything else is said, and changes
// nothing (I4).
func TestTicketsAreSpent(t *testing.T) {
	t.Parallel()
	nodes := []string{
		"Register", "Heartbeat", "Prepared", "Prepared by both", "Quiesced", "Copied", "Drained", "ReportFailure", "RecordBackup",
	}
	seen := 0
	for _, u := range useCases() {
		if !slices.Contains(nodes, u.name) {
			continue
		}
		seen++
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			w := u.world(t)
			spent := w.nonce.Load()
			w.must(u.do(w))
			w.hints.Took()
			before := w.dump()
			w.nonce.Store(spent)
			w.refused(u.do(w), "assertion_replayed")
			w.same(before, "a replayed request")
		})
	}
	if seen != len(nodes) {
		t.Errorf("%d of %d use cases were tried", seen, len(nodes))
	}
}
