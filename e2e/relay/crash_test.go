package relay

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// What was answered survives kill -9 in the midst of writes; what was not is whole or absent; the process comes up by
// itself and the audit chain is whole (§10).
func TestKillDuringWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var answered sync.Map
	var count atomic.Int64
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("k%d-%04d", i, n)
				status := w.Try(w.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: id, HomeRegion: "eu"})
				if status == 0 {
					return
				}
				if status == 201 {
					answered.Store(id, true)
					count.Add(1)
				}
			}
		})
	}
	w.Eventually("there are writes under way", func() bool { return count.Load() > 40 })
	w.Kill()
	close(stop)
	writers.Wait()
	w.Run()
	answered.Range(func(id, _ any) bool {
		var got contract.Tenant
		w.Operator("GET", "/api/v1/tenants/"+id.(string), nil, 200, &got)
		if got.Authorization.Revision != 1 {
			t.Errorf("%s came back as %+v", id, got)
		}
		return true
	})
	var verdict contract.AuditVerdict
	w.Operator("GET", "/api/v1/audit/verify", nil, 200, &verdict)
	if !verdict.Whole || verdict.Entries < count.Load() {
		t.Fatalf("after %d answered writes the audit log is %+v", count.Load(), verdict)
	}
}

// A migration goes on where it was after the control plane was killed in any of its states, and the switch is made by a
// sweep where it was not made before (P5).
func TestKillInEachStateOfAMigration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin()
	for _, enter := range []func(*harness.Move){(*harness.Move).Prepare, (*harness.Move).Quiesce, (*harness.Move).Copy} {
		w.Kill()
		w.Run()
		enter(m)
	}
	w.Kill()
	w.Run()
	w.Eventually("the switch is made", func() bool { return m.Show().State == "draining" })
	m.Drain()
	m.Expect("done", "active", m.Target.ID, m.Generation+1)
}

// A node that stops beating counts as offline after the control plane's own count, and not before its lease could have
// ended; its tenant can then be recovered from its last backup, with consent (P9, P11).
func TestRecoverALostNode(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, "BERTH_LEASE_DURATION=2s", "BERTH_LEASE_MARGIN=1s", "BERTH_DEADLINE_DRAIN=2s")
	lost, target := w.holder(), w.other()
	path := "/api/v1/tenants/acme/recover"
	ask := contract.NewRecover{LostNode: lost.ID, Generation: 1, TargetNode: target.ID}
	w.Refused("POST", path, ask, 403, "data_loss_not_accepted")
	ask.AcceptDataLoss = true
	lost.Beat()
	w.Refused("POST", path, ask, 409, "lease_not_run_out")
	lost.Call("POST", "/tenants/acme/backups", contract.NewBackup{Generation: 1, Sequence: 12, ManifestRoot: harness.Root(5)}, 204, nil)
	w.Eventually("the lost node counts as offline", func() bool {
		target.Beat()
		var n contract.Node
		w.Operator("GET", "/api/v1/nodes/"+lost.ID, nil, 200, &n)
		return n.Lease.State == "lapsed"
	})
	var m contract.Migration
	w.Operator("POST", path, ask, 202, &m)
	if m.State != "copying" || m.DataLoss == nil || m.DataLoss.LastSequence != 12 {
		t.Fatalf("the recover is %+v", m)
	}
	target.Call("POST", "/migrations/"+m.ID+"/copied", contract.Copied{LastSequence: 12, ManifestRoot: harness.Root(5)}, 204, nil)
	w.Eventually("the tenant is on its new node", func() bool {
		target.Beat()
		p := w.show().Placement
		return p.Node == target.ID && p.Generation == 2 && p.State == "active"
	})
	w.Refused("POST", path, ask, 409, "node_does_not_hold_tenant")
	if before := lost.Beat(); before.LeaseEpoch != 2 {
		t.Fatalf("the node's next lease has epoch %d, want 2", before.LeaseEpoch)
	}
}

// A database that can not be had, here because another process holds its lock, is a 503 with Retry-After, and its return needs no restart.
func TestDatabaseGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unlock := w.LockDatabase()
	a := w.Do(w.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: "x", HomeRegion: "eu"})
	if a.Status != 503 || a.Header.Get("Retry-After") == "" {
		t.Fatalf("without a database: %d %s", a.Status, a.Body)
	}
	unlock()
	w.Eventually("it serves again", func() bool {
		return w.Do(w.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: "y", HomeRegion: "eu"}).Status == 201
	})
}
