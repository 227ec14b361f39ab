package replicas

import (
	"net/http"
	"sync"
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// Each step of a migration is taken through the replica that did not take the one before, and either shows what the other
// did at once (P1–P7).
func TestMigrationInFullThroughBothReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for round := range 2 {
		before := w.one.Tenant(w.tenant).Placement
		m := w.turn(round).Begin(w.tenant, w.holder(), w.other())
		for i, step := range []struct {
			enter            func(*harness.Move)
			migration, state string
			switched         int64
		}{
			{func(*harness.Move) {}, "preparing", "active", 0},
			{(*harness.Move).Prepare, "quiescing", "quiescing", 0},
			{(*harness.Move).Quiesce, "copying", "copying", 0},
			{(*harness.Move).Copy, "draining", "draining", 1},
			{(*harness.Move).Drain, "done", "active", 1},
		} {
			step.enter(m.Through(w.turn(round + i)))
			node := []*harness.Node{m.Source, m.Target}[step.switched].ID
			for _, s := range w.both() {
				m.Through(s).Expect(step.migration, step.state, node, before.Generation+step.switched)
			}
		}
		if after := w.two.Tenant(w.tenant).Placement; after.Version <= before.Version+4 {
			t.Fatalf("the placement version went from %d to %d in six changes (P15)", before.Version, after.Version)
		}
	}
	w.agree()
}

// In each state before the switch an abort through the other replica returns the tenant to its source at the same
// generation, and what nodes still report is refused by either (P6, P15).
func TestAbortInEachEarlyStateThroughTheOtherReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steps := []func(*harness.Move){func(*harness.Move) {}, (*harness.Move).Prepare, (*harness.Move).Quiesce}
	for i, last := range []string{"preparing", "quiescing", "copying"} {
		before := w.one.Tenant(w.tenant).Placement
		m := w.turn(i).Begin(w.tenant, w.holder(), w.other()).Through(w.turn(i))
		for _, enter := range steps[:i+1] {
			enter(m)
		}
		w.turn(i+1).Operator("POST", m.AbortPath(), nil, 200, nil)
		for _, s := range w.both() {
			m.Through(s).Expect("aborted", "active", before.Node, before.Generation)
			m.Source.Refused("POST", m.Path("quiesced"), contract.Quiesced{
				Generation: m.Generation, LastSequence: 1, ManifestRoot: harness.Root(9),
			}, http.StatusNotFound, "not_found")
		}
		if after := w.one.Tenant(w.tenant).Placement; after.Version <= before.Version {
			t.Fatalf("aborted while %s: version %d after %d", last, after.Version, before.Version)
		}
	}
	w.agree()
}

const raceRounds = 100

// Of an abort through one replica and a copied report through the other exactly one wins, and both replicas show the
// winner's end (P5).
func TestAbortRacingCopiedAcrossReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wins := map[string]int{}
	for round := range raceRounds {
		m := w.one.Begin(w.tenant, w.holder(), w.other()).Through(w.one)
		m.Prepare()
		m.Quiesce()
		operator, ingress := w.turn(round), w.turn(round+1)
		var aborted, copied int
		var both sync.WaitGroup
		both.Go(func() { aborted = operator.Do(operator.Token, "POST", m.AbortPath(), nil).Status })
		both.Go(func() { copied = m.Target.At(ingress).Do("POST", m.Path("copied"), m.Report()).Status })
		both.Wait()
		state := m.Show().State
		wins[state]++
		switch {
		case state == "aborted" && aborted == 200: // copied may have come first: the switch is a transaction of its own
			for _, s := range w.both() {
				m.Through(s).Expect("aborted", "active", m.Source.ID, m.Generation)
			}
		case state == "draining" && copied == 204 && aborted == 409:
			for _, s := range w.both() {
				m.Through(s).Expect("draining", "draining", m.Target.ID, m.Generation+1)
			}
			m.Drain()
		default:
			t.Fatalf("state %s, abort answered %d, copied answered %d", state, aborted, copied)
		}
		w.beatAll()
	}
	w.agree()
	t.Logf("%d rounds ended as %v", raceRounds, wins)
}
