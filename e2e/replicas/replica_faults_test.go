package replicas

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// Replicas that are started at once on an empty database all come up: its schema is made once, they have one set of keys,
// and one of them leads.
func TestReplicasStartedAtOnceOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	all := harness.Replicas(t, 4)
	all[0].Operator("POST", "/api/v1/regions", contract.NewRegion{ID: "eu", Origin: "https://eu.relay.test"}, 201, nil)
	steps := 0
	for _, s := range all {
		steps += strings.Count(s.Output(), "0001_initial")
		s.Operator("GET", "/api/v1/regions", nil, 200, nil)
	}
	if steps != 1 {
		t.Errorf("the first step of the schema was taken %d times", steps)
	}
	within(t, 20*time.Second, "one of them leads", func() bool {
		leaders := 0
		for _, s := range all {
			if leading(s) {
				leaders++
			}
		}
		return leaders == 1
	}, all[0].Output)
	var keys [2]contract.SigningKeys
	for i := range keys {
		all[i].Operator("GET", "/api/v1/signing-keys", nil, 200, &keys[i])
	}
	if fmt.Sprint(keys[0]) != fmt.Sprint(keys[1]) || len(keys[0].Keys) == 0 {
		t.Errorf("the replicas show the keys %+v and %+v", keys[0], keys[1])
	}
}

// A replica that is killed in the midst of writes loses none that was answered, and a client that asks the other replica
// for what was not doubles none.
func TestReplicaKilledInTheMidstOfWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.load()
	for i := range 4 {
		l.flows(20, 20*time.Second)
		w.turn(i).Kill()
		l.flows(20, 20*time.Second)
		w.turn(i).Run()
	}
	l.check()
	w.agree()
}

// A replica that stops in the midst of writes, with a transaction open that all others wait for, holds the other up no
// longer than the database lets a transaction idle; when it goes on it does no harm.
func TestReplicaPausedInTheMidstOfWrites(t *testing.T) {
	t.Parallel()
	const bound = 15 * time.Second // of which the database takes 5 to end an idle transaction
	w := newWorld(t)
	// The audit log is one chain: whoever writes its next link has everybody wait.
	w.pg.SQL(`CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN NULL; END';
		CREATE TRIGGER linger AFTER INSERT ON audit_log FOR EACH ROW WHEN (NEW.subject LIKE 'tenant/slow%') EXECUTE FUNCTION linger()`)
	l := w.load()
	for i := range 2 {
		s := w.turn(i)
		l.flows(20, 20*time.Second)
		go s.Ask(t.Context(), s.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: fmt.Sprintf("slow%d", i), HomeRegion: "eu"})
		within(t, 20*time.Second, "a transaction lingers", func() bool { return w.pg.SQL(lingering) != "0" }, s.Output)
		s.Pause()
		start := time.Now()
		within(t, 10*time.Second, "it idles", func() bool { return w.pg.SQL(lingering) == "0" }, nil)
		l.flows(20, bound)
		t.Logf("20 writes went through the other replica within %s", time.Since(start))
		s.Unpause()
	}
	l.flows(20, 20*time.Second)
	l.check()
	w.agree()
}

const lingering = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`

// leader is the replica that runs the sweeps, and the other one.
func (w *world) leader() (leads, follows *harness.Server) {
	w.t.Helper()
	within(w.t, 20*time.Second, "one replica leads", func() bool { return leading(w.one) != leading(w.two) }, w.one.Output)
	if leading(w.one) {
		return w.one, w.two
	}
	return w.two, w.one
}

func leading(s *harness.Server) bool {
	return strings.Contains(s.MetricsText(), "\nberth_sweep_leader 1\n")
}

// takeover is how long duties may rest when the replica that does them is gone, with a sweep's interval.
const takeover = 11 * time.Second

// When the leader of the sweeps is killed, the other replica acts on a migration's deadline and on the placement queue in
// its place (P2, P12).
func TestSweepLeaderKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "BERTH_DEADLINE_PREPARE=2s")
	leads, follows := w.leader()
	m := follows.Begin(w.tenant, w.holder(), w.other()).Through(follows)
	follows.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: "us", Origin: "https://us.relay.test"}, 201, nil)
	follows.Operator("POST", "/api/v1/tenants", contract.NewTenant{ID: "waiting", HomeRegion: "us"}, 201, nil)
	leads.Kill()
	killed := time.Now()
	// The node comes when nobody leads: only a sweep can place the tenant then.
	follows.NewNode("west", "us", 10)
	within(t, takeover, "the tenant is placed", func() bool { return follows.Tenant("waiting").Placement != nil }, follows.Output)
	placed := time.Since(killed)
	within(t, takeover, "the migration failed at its deadline", func() bool { return m.Show().State == "failed" }, follows.Output)
	t.Logf("after the kill the tenant was placed within %s, the migration ended within %s", placed, time.Since(killed))
	if !leading(follows) {
		t.Error("the other replica does not say that it leads")
	}
	leads.Run()
	w.agree()
}

// One replica after the other is stopped, as for an upgrade, and started again: a client that repeats what had no answer
// sees no other failure, and neither does a node.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.load()
	n, beats := w.nodes["a"], map[string]int{}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			n.Sequence++
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			a := n.At(w.turn(i)).Ask(ctx, "POST", "/nodes/a/heartbeat", contract.Heartbeat{Generation: n.Generation, Sequence: n.Sequence})
			cancel()
			if a.Err != nil {
				beats["no answer"]++
				continue
			}
			beats[fmt.Sprintf("%d %s", a.Status, a.Slug())]++
		}
	}()
	for _, s := range w.both() {
		l.flows(20, 20*time.Second)
		s.Stop()
		l.flows(20, 20*time.Second)
		s.Run()
	}
	l.flows(20, 20*time.Second)
	close(done)
	<-ended
	l.check()
	for kind := range l.answers {
		if kind != "201" && kind != "no answer" && kind != "503 stopping" {
			t.Errorf("a writer was answered %s, %d times", kind, l.answers[kind])
		}
	}
	for kind := range beats {
		if kind != "200 " && kind != "no answer" && kind != "503 stopping" {
			t.Errorf("the node was answered %s, %d times", kind, beats[kind])
		}
	}
	t.Logf("writers: %v; the node's beats: %v", l.answers, beats)
}
