package replicas

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"berth/adapters/contract"
	"berth/e2e/harness"
	"berth/e2e/lab"
)

// answerBound is how long a request may take whose database does not answer: the statement's time-out, what the client
// grants it on top, and as much again for a connection that had to be made first.
const answerBound = 15 * time.Second

// refused fails the test where an answer is not a 503 in bounded time that says when to come again.
func refused(t *testing.T, what string, s *harness.Server, method, path string, body any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), answerBound)
	defer cancel()
	start := time.Now()
	a := s.Ask(ctx, s.Token, method, path, body)
	if a.Status != 503 || a.Header.Get("Retry-After") == "" || path != "/readyz" && a.Slug() != "store_unavailable" {
		t.Errorf("%s: %s %s was answered after %s: %d %s %v", what, method, path, time.Since(start), a.Status, a.Body, a.Err)
	}
}

// refuseAll fails the test where a replica does not refuse a write, a read and to be called ready.
func (w *world) refuseAll(what string) {
	w.t.Helper()
	var all sync.WaitGroup
	for _, s := range w.both() {
		all.Go(func() {
			refused(w.t, what, s, "POST", "/api/v1/tenants", contract.NewTenant{ID: "none", HomeRegion: "eu"})
		})
		all.Go(func() { refused(w.t, what, s, "GET", "/api/v1/tenants/acme", nil) })
		all.Go(func() { refused(w.t, what, s, "GET", "/readyz", nil) })
	}
	all.Wait()
}

// writes says whether a replica takes a write now.
func writes(s *harness.Server, id string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), answerBound)
	defer cancel()
	status := s.Ask(ctx, s.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: id, HomeRegion: "eu"}).Status
	return status == 201 || status == 409 // it was taken by an attempt before that had no answer
}

// recovers waits until both replicas serve and write again, by themselves.
func (w *world) recovers(after string) {
	w.t.Helper()
	start := time.Now()
	for i, s := range w.both() {
		within(w.t, 30*time.Second, fmt.Sprintf("replica %d writes after %s", i+1, after), func() bool {
			return writes(s, fmt.Sprintf("after-%s-%d", after, i)) && s.Ready()
		}, s.Output)
	}
	w.t.Logf("after %s both write again within %s", after, time.Since(start))
}

// Postgres is restarted, and killed and started, while clients write: none that was answered is lost, none is doubled, and
// the replicas come back by themselves.
func TestPostgresRestartedUnderLoad(t *testing.T) {
	t.Parallel()
	w := worldOn(t, lab.Server(t, lab.Options{}))
	l := w.load()
	for _, end := range []func(){w.pg.Stop, w.pg.Kill} {
		l.flows(20, 20*time.Second)
		end()
		w.pg.Start()
		l.flows(20, 30*time.Second)
	}
	l.check()
	w.recovers("restart")
	w.agree()
}

// The server ends every connection again and again while clients write, also in the midst of a commit: no answer claims
// what is not so, and no repeat doubles.
func TestConnectionsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.load()
	killed := 0
	for range 25 {
		l.flows(3, 30*time.Second)
		if w.pg.SQL(cutAll) != "0" {
			killed++
		}
	}
	if killed == 0 {
		t.Error("no connection was killed")
	}
	l.flows(20, 20*time.Second)
	l.check()
	w.agree()
}

// cutAll ends every connection to the database but the one that asks.
const cutAll = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
	WHERE datname = current_database() AND pid <> pg_backend_pid()`

// While Postgres is frozen, its connections open, requests are refused in bounded time and the replicas say that they are
// not ready; when it goes on, so do they.
func TestPostgresPaused(t *testing.T) {
	t.Parallel()
	pg := lab.Server(t, lab.Options{})
	w := worldOn(t, pg)
	for _, fault := range []struct {
		name       string
		begin, end func()
	}{{"freeze", pg.Pause, pg.Unpause}, {"sigstop", pg.Suspend, pg.Resume}} {
		l := w.load()
		l.flows(10, 20*time.Second)
		fault.begin()
		w.refuseAll(fault.name)
		fault.end()
		w.recovers(fault.name)
		l.flows(10, 20*time.Second)
		l.check()
	}
	w.agree()
}

// With no room left in Postgres' data directory writes are refused as such, reads go on, and writes are taken again when
// there is room.
func TestPostgresFull(t *testing.T) {
	t.Parallel()
	const most = 5000 // writes that the pages which are there may hold
	w := worldOn(t, lab.Server(t, lab.Options{DataSize: "128m"}))
	w.pg.Fill()
	var last harness.Answer
	taken := 0
	for ; taken < most; taken++ {
		last = w.turn(taken).Do(w.one.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: fmt.Sprintf("t%d", taken), HomeRegion: "eu"})
		if last.Status != 201 {
			break
		}
	}
	if last.Status != 503 || last.Slug() != "store_unavailable" || last.Header.Get("Retry-After") == "" {
		t.Fatalf("after %d writes: %d %s", taken, last.Status, last.Body)
	}
	t.Logf("the database was full after %d writes", taken)
	for _, s := range w.both() {
		if got := s.Tenant(w.tenant); got.Placement == nil {
			t.Errorf("read as %+v", got)
		}
		for i := range taken {
			s.Tenant(fmt.Sprintf("t%d", i))
		}
	}
	w.pg.Free()
	w.recovers("room")
	w.agree()
}

// Where Postgres admits none of the replicas' connections everything is refused with a time to come again, where it admits
// few a burst is served or refused so, and all is served when it admits them again.
func TestConnectionsExhausted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limit := func(n int) { w.pg.SQL(fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", w.pg.DB.User, n)) }
	limit(0)
	w.pg.SQL(cutAll)
	w.refuseAll("no connection")
	limit(12) // of which each replica would take more
	t.Logf("with twelve connections for both replicas: %v", w.burst(100))
	limit(-1)
	w.recovers("admission")
	w.agree()
}

// burst sends writes to both replicas at once and counts the answers, each of which must be a success or a 503 that says
// when to come again.
func (w *world) burst(n int) map[string]int {
	w.t.Helper()
	answers := make(chan harness.Answer, n)
	for i := range n {
		go func() {
			s := w.turn(i)
			answers <- s.Ask(w.t.Context(), s.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: fmt.Sprintf("burst%d", i), HomeRegion: "eu"})
		}()
	}
	counts := map[string]int{}
	for range n {
		a := <-answers
		counts[fmt.Sprintf("%d %s", a.Status, a.Slug())]++
		if a.Status != 201 && (a.Status != 503 || a.Header.Get("Retry-After") == "") {
			w.t.Errorf("in a burst: %d %s %v", a.Status, a.Body, a.Err)
		}
	}
	return counts
}

// A lock that somebody holds in the database uses up the connections for writes: those are refused in bounded time, while
// reads and polls, which have connections of their own, go on.
func TestLockHeldInPostgres(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn, err := pgx.Connect(t.Context(), w.pg.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE writers IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	counts := make(chan map[string]int, 1)
	go func() { counts <- w.burst(60) }()
	holder := w.holder()
	for answered := false; !answered; {
		for _, s := range w.both() {
			start := time.Now()
			s.Tenant(w.tenant)
			holder.At(s).Call("GET", "/tenants/acme/authorization?generation=1", nil, 200, nil)
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("two reads took %s while a lock was held", took)
			}
		}
		select {
		case c := <-counts:
			answered = true
			if t.Logf("while a lock was held: %v", c); c["201 "] > 0 {
				t.Error("a write was taken")
			}
		default:
		}
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	w.recovers("release")
	w.agree()
}
