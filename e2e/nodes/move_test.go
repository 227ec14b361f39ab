package nodes_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// A tenant moves to the other node and back while either is killed at each of its reports, before it arrives and after,
// and ends up where it was to go, one generation later, with exactly one writer at any time.
func movesWhileNodesAreKilled(t *testing.T, w *world) {
	one, tenant := w.serving("a")
	two := w.relay("b")
	two.Serves()
	w.connects(tenant, two)
	watch := harness.NewWatch(t, tenant, one, two)
	source, target := one, two
	generation := int64(1)
	for _, step := range []string{"prepared", "quiesced", "copied", "drained"} {
		for _, who := range []string{"source", "target"} {
			if (step == "quiesced" || step == "drained") && who == "target" || step == "copied" && who == "source" {
				continue
			}
			for _, arrives := range []bool{false, true} {
				victim := source
				if who == "target" {
					victim = target
				}
				w.moveKilling(victim, tenant, target, step, arrives)
				generation++
				within(t, patience, "the target writes", func() bool { return target.MayWrite(tenant) })
				if p := w.Tenant(tenant).Placement; p.Node != target.ID || p.Generation != generation || p.State != "active" {
					t.Fatalf("%s of the %s, arrived %t: the tenant is %+v", step, who, arrives, p)
				}
				source, target = target, source
			}
		}
	}
	harness.OneWriter(t, watch.Samples())
}

// moveKilling moves a tenant and kills a node when it reports a step: before that arrives, or before the answer does.
func (w *world) moveKilling(victim *harness.Relay, tenant string, target *harness.Relay, step string, arrives bool) {
	w.t.Helper()
	held, dead := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hook := func(forward func() int) bool {
		killed := false
		once.Do(func() {
			if arrives {
				forward()
			}
			held <- struct{}{}
			<-dead
			killed = true
		})
		return !killed && forward() != 0
	}
	for _, tap := range w.Upstream {
		defer tap.On(reports(victim.ID, step), hook)()
	}
	m, err := w.Operator().BeginMigration(w.t.Context(), tenant, contract.NewMigration{TargetNode: target.ID})
	must(w.t, err)
	select {
	case <-held:
	case <-time.After(patience):
		w.t.Fatalf("%s never reports %s; it said:\n%s", victim.ID, step, victim.Output())
	}
	victim.Kill()
	close(dead)
	victim.Serves()
	within(w.t, patience, "the migration is done", func() bool {
		got, err := w.Operator().Migration(w.t.Context(), tenant, m.ID, 0)
		must(w.t, err)
		if got.EndedAt != nil && got.State != "done" {
			w.t.Fatalf("%s killed at %s, arrived %t: the migration ended as %+v", victim.ID, step, arrives, got)
		}
		return got.State == "done"
	})
}

// reports matches a node's report of a step: whose it is stands in what the ingress asserts.
func reports(node, step string) func(*http.Request, []byte) bool {
	return func(r *http.Request, _ []byte) bool {
		return strings.HasSuffix(r.URL.Path, "/"+step) && strings.HasSuffix(harness.Asserted(r, "spiffe"), "/"+node)
	}
}
