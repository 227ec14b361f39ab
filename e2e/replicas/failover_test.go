package replicas

import (
	"fmt"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
	"berth/e2e/lab"
)

// When Postgres fails over to its standby the replicas find it by themselves, lose nothing that had been copied, and count
// every lease anew: a node that had been silent long enough before is not given up on the word of another history (P9).
func TestFailoverToThePromotedStandby(t *testing.T) {
	t.Parallel()
	const duration, margin = 4 * time.Second, 2 * time.Second
	pg := lab.Server(t, lab.Options{})
	standby := pg.Standby(t)
	w := worldAt(t, pg, pg.InsideDSN(standby), "BERTH_LEASE_DURATION="+duration.String(), "BERTH_LEASE_MARGIN="+margin.String())
	lost, target := w.holder(), w.other()
	lost.Call("POST", "/tenants/acme/backups", contract.NewBackup{Generation: 1, Sequence: 12, ManifestRoot: harness.Root(5)}, 204, nil)
	within(t, 30*time.Second, "the lost node counts as offline", func() bool {
		target.Beat()
		var n contract.Node
		w.one.Operator("GET", "/api/v1/nodes/"+lost.ID, nil, 200, &n)
		return n.Lease.State == "lapsed"
	}, nil)
	standby.CaughtUp(pg)
	pg.Kill()
	promoted := time.Now()
	standby.Promote()
	w.recovers("failover")
	ask := contract.NewRecover{LostNode: lost.ID, Generation: 1, TargetNode: target.ID, AcceptDataLoss: true}
	var refused int
	within(t, 30*time.Second, "the tenant may be recovered", func() bool {
		target.Beat()
		a := w.turn(refused).Do(w.one.Token, "POST", "/api/v1/tenants/acme/recover", ask)
		if a.Status == 202 {
			return true
		}
		if a.Slug() != "lease_not_run_out" {
			t.Fatalf("recover after a failover: %d %s", a.Status, a.Body)
		}
		refused++
		return false
	}, nil)
	counted := time.Since(promoted)
	t.Logf("recover was refused %d times, until %s after the promotion", refused, counted)
	if refused == 0 || counted < duration+margin {
		t.Errorf("recover was allowed %s after the promotion, refused %d times before", counted, refused)
	}
	w.agree()
}

// A standby that lags, and is named before the primary, is never read: each snapshot shows the revoke that was answered
// before it, and without the primary there is none (A2).
func TestLaggingStandbyNeverServesASnapshot(t *testing.T) {
	t.Parallel()
	pg := lab.Server(t, lab.Options{})
	standby := pg.Standby(t)
	w := worldAt(t, pg, standby.InsideDSN(pg))
	phones := []harness.Device{}
	for range 8 {
		phones = append(phones, w.one.Pair(w.tenant, "member", "phone"))
	}
	standby.CaughtUp(pg)
	standby.PauseReplay()
	holder := w.holder()
	const path = "/tenants/acme/authorization?generation=1"
	for i, phone := range phones {
		var answer contract.Revoked
		w.turn(i).Operator("POST", "/api/v1/tenants/acme/principals/"+phone.Principal+"/revoke", nil, 200, &answer)
		for _, s := range w.both() {
			var shown contract.Snapshot
			holder.At(s).Call("GET", path, nil, 200, &shown)
			if shown.Revision != answer.Revision {
				t.Errorf("a snapshot is at revision %d, after a revoke at %d", shown.Revision, answer.Revision)
			}
		}
	}
	if n := standby.SQL("SELECT count(*) FROM pg_stat_activity WHERE usename = 'berth' AND state = 'active'"); n != "0" {
		t.Errorf("%s statements run on the standby", n)
	}
	pg.Kill()
	for i, s := range w.both() {
		a := holder.At(s).Ask(t.Context(), "GET", path, nil)
		if a.Status != 503 || a.Slug() != "store_unavailable" {
			t.Errorf("replica %d, with the standby alone: %d %s %v", i+1, a.Status, a.Body, a.Err)
		}
	}
	pg.Start()
	w.recovers("return")
	w.agree()
	if out := fmt.Sprint(standby.SQL("SELECT pg_is_in_recovery()")); out != "t" {
		t.Errorf("the standby is none any more: %s", out)
	}
}
