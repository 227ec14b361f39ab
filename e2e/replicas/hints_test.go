package replicas

import (
	"slices"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// poll waits on a replica, as the tenant's node does, for what happens after a revision.
func (w *world) poll(on *harness.Server, n *harness.Node, revision int64) <-chan harness.Answer {
	w.t.Helper()
	waiting := on.Waiting()
	answered := make(chan harness.Answer, 1)
	known := contract.Poll{Tenants: []contract.Known{{Tenant: w.tenant, Generation: 1, Revision: revision}}, Wait: 30}
	go func() { answered <- n.At(on).Ask(w.t.Context(), "POST", "/nodes/"+n.ID+"/authorization/poll", known) }()
	on.Eventually("the poll waits", func() bool { return on.Waiting() > waiting })
	return answered
}

// revoke revokes a device on one replica while a poll waits on the other, and returns how long after the answer to the
// revoke the poll was answered.
func (w *world) revoke(on, waiting *harness.Server, before func()) time.Duration {
	w.t.Helper()
	phone := w.one.Pair(w.tenant, "member", "phone")
	holder := w.holder()
	var s contract.Snapshot
	holder.At(waiting).Call("GET", "/tenants/"+w.tenant+"/authorization?generation=1", nil, 200, &s)
	answered := w.poll(waiting, holder, s.Revision)
	before()
	on.Operator("POST", "/api/v1/tenants/"+w.tenant+"/principals/"+phone.Principal+"/revoke", nil, 200, nil)
	start := time.Now()
	a := <-answered
	took := time.Since(start)
	var out contract.Polled
	harness.Decode(w.t, a, 200, &out)
	if len(out.Tenants) != 1 || out.Tenants[0].Delta == nil || out.Tenants[0].Delta.To != s.Revision+1 {
		w.t.Fatalf("after %s the poll answered %s", took, a.Body)
	}
	return took
}

// A revoke that one replica commits is the answer to the poll that waits on the other: nearly always by its hint, long
// before the poll would look again by itself (A4).
func TestRevokeAnswersThePollOnTheOtherReplica(t *testing.T) {
	t.Parallel()
	const rounds, hinted, bound = 20, time.Second, 15 * time.Second
	w := newWorld(t)
	var took []time.Duration
	for i := range rounds {
		took = append(took, w.revoke(w.turn(i), w.turn(i+1), func() {}))
	}
	slices.Sort(took)
	t.Logf("from the revoke's answer to the poll's, %d rounds: median %s, longest %s", rounds, took[rounds/2], took[rounds-1])
	if took[rounds/2] > hinted || took[rounds-1] > bound {
		t.Errorf("polls waited %s, more than %s in the middle or %s at most", took, hinted, bound)
	}
}

// The same where the hint is lost, since the connection that listens was cut a moment before: correctness does not hang
// on hints (A4).
func TestRevokeAnswersThePollThoughItsHintWasLost(t *testing.T) {
	t.Parallel()
	const bound = 15 * time.Second // half of what the poll would wait
	w := newWorld(t)
	for i := range 3 {
		took := w.revoke(w.turn(i), w.turn(i+1), func() {
			if n := w.pg.SQL(cutListeners); n == "0" {
				t.Fatal("nobody listens")
			}
		})
		t.Logf("the poll was answered after %s", took)
		if took > bound {
			t.Errorf("a poll waited %s, more than %s", took, bound)
		}
	}
}

// A certificate that one replica revokes ends the polls that wait by it on the other: by the hint, long before their wait
// is over.
func TestRevokedCertificateEndsThePollOnTheOtherReplica(t *testing.T) {
	t.Parallel()
	const rounds, bound = 4, 15 * time.Second // half of what the polls would wait
	w := newWorld(t)
	for i := range rounds {
		revoking, waiting := w.turn(i), w.turn(i+1)
		var s contract.Snapshot
		holder := w.holder()
		holder.At(waiting).Call("GET", "/tenants/"+w.tenant+"/authorization?generation=1", nil, 200, &s)
		answered := w.poll(waiting, holder, s.Revision)
		revoking.Operator("POST", "/api/v1/nodes/"+holder.ID+"/credentials/"+holder.Fingerprint+"/revoke", nil, 200, nil)
		select {
		case a := <-answered:
			if a.Err != nil || a.Status != 401 || a.Slug() != "credential_revoked" {
				t.Fatalf("the poll was answered %d %s, %v", a.Status, a.Body, a.Err)
			}
		case <-time.After(bound):
			t.Fatalf("the poll still waits %s after the revocation was answered", bound)
		}
		holder.Fingerprint = holder.Admit(time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	}
}

// cutListeners ends every connection that hints come over, and counts them.
const cutListeners = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
	WHERE datname = current_database() AND application_name LIKE 'berth hints%'`
