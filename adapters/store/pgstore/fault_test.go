package pgstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/store/pgstore"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// everything is each way in, by name.
func everything(s *pgstore.Store) map[string]error {
	return map[string]error{
		"a write": put(s, "eu"), "a view": s.View(context.Background(), nothing), "a beat": beat(s, "n"),
		"a caller": caller(s), "a poll": poll(s), "a ping": s.Ping(context.Background()),
	}
}

// While the server is away every call says so; once it is back every call succeeds, the first included, though each
// connection of before is dead.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	p, dsn := between(t, database(t))
	s := open(t, dsn)
	do(t, s, func(ctx context.Context, r *store.Roles) error { return fleetIn(ctx, r, 1) })
	well := func(when, id string) {
		t.Helper()
		for what, err := range map[string]error{
			"a write": put(s, id), "a view": s.View(t.Context(), nothing), "a beat": beat(s, nodeName(0)), "a caller": caller(s),
			"a poll": poll(s), "a ping": s.Ping(t.Context()),
		} {
			if err != nil {
				t.Fatalf("%s %s: %v", what, when, err)
			}
		}
	}
	well("before", "r1")
	p.stop()
	for what, err := range everything(s) {
		away(t, what, err, "store_unavailable")
	}
	p.start()
	well("after", "r2")
	p.stop() // while nobody asks
	p.start()
	well("after a restart that nobody saw", "r3")
	change(t, dsn, terminateAll)
	well("after the server ended every connection", "r4")
}

// A server that hangs holds a caller no longer than the client's own deadline, and nobody for ever.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	p, dsn := between(t, database(t))
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{
		StatementTimeout: time.Millisecond * 200, LockTimeout: time.Millisecond * 200, ConnectTimeout: time.Second,
	})
	if err := errors.Join(put(s, "eu"), s.View(t.Context(), nothing)); err != nil {
		t.Fatal(err)
	}
	resume := make(chan struct{})
	p.watch(hooks{asked: func(chunk []byte) []byte {
		<-resume
		return chunk
	}})
	errs := make(chan error, 2)
	go func() { errs <- put(s, "us") }()
	go func() { errs <- s.View(context.Background(), nothing) }()
	for range cap(errs) {
		away(t, "a call", <-errs, "store_unavailable")
	}
	close(resume)
	p.watch(hooks{})
	if err := put(s, "later"); err != nil {
		t.Fatal(err)
	}
	has(t, s, "eu later")
}

func migrated(tb testing.TB, dsn string) {
	tb.Helper()
	if err := migrate(dsn); err != nil {
		tb.Fatal(err)
	}
}

// A statement that takes too long, and one that waits too long for a lock, are given up: the database is busy.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{StatementTimeout: 300 * time.Millisecond, LockTimeout: 50 * time.Millisecond})
	change(t, dsn, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); RETURN NEW; END $$`,
		`CREATE TRIGGER slow BEFORE INSERT ON relay_regions FOR EACH ROW EXECUTE FUNCTION slow()`)
	away(t, "a slow statement", put(s, "eu"), "store_busy")
	change(t, dsn, "DROP TRIGGER slow ON relay_regions")
	locked(t, dsn, "LOCK TABLE relay_regions IN ACCESS EXCLUSIVE MODE", func() {
		away(t, "a write on a locked table", put(s, "eu"), "store_busy")
		away(t, "a view on a locked table", s.View(t.Context(), func(ctx context.Context, r *store.Roles) error {
			_, err := r.Regions.Get(ctx, "eu")
			return err
		}), "store_busy")
		locked(t, dsn, "LOCK TABLE writers IN ACCESS EXCLUSIVE MODE", func() {
			away(t, "a write among writers that hang", put(s, "eu"), "store_busy")
			away(t, "a beat among writers that hang", beat(s, "n"), "store_busy")
		})
	})
	if err := put(s, "us"); err != nil {
		t.Fatal(err)
	}
	has(t, s, "us")
}

// locked runs fn while another session holds a lock.
func locked(tb testing.TB, dsn, lock string, fn func()) {
	tb.Helper()
	tx, err := raw(tb, dsn).BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(tb.Context(), lock); err != nil {
		tb.Fatal(err)
	}
	fn()
}

// While another session holds rows, whoever only reads goes on, and so does whoever writes others.
func TestHeldRowsStopNoPoll(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{LockTimeout: 100 * time.Millisecond, Readers: 1, Callers: 1})
	do(t, s, func(ctx context.Context, r *store.Roles) error { return fleetIn(ctx, r, 3) })
	update := func(i int) error {
		return s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
			return store.UpdateIn(ctx, r.Nodes, nodeName(i), func(*placement.Node) error { return nil })
		})
	}
	locked(t, dsn, "SELECT * FROM relay_nodes WHERE id = '"+nodeName(0)+"' FOR UPDATE", func() {
		waiting := make(chan error, 1)
		go func() { waiting <- update(0) }()
		for range 20 {
			if err := errors.Join(caller(s), beat(s, nodeName(0)), s.View(t.Context(), func(ctx context.Context, r *store.Roles) error {
				_, _, err := r.Standings.Differing(ctx, nodeName(0), []store.Known{{Tenant: "t"}})
				return err
			})); err != nil {
				t.Fatal(err)
			}
		}
		if err := update(1); err != nil {
			t.Fatal(err)
		}
		away(t, "the write on the row that is held", <-waiting, "store_busy")
	})
	if err := update(0); err != nil {
		t.Fatal(err)
	}
}

// When every connection of one kind is lent, calls of that kind wait no longer than they may, and the others go on.
func TestPoolExhausted(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{Readers: 1, Writers: 1, LockTimeout: 50 * time.Millisecond})
	do(t, s, func(ctx context.Context, r *store.Roles) error { return fleetIn(ctx, r, 1) })
	err := s.View(t.Context(), func(context.Context, *store.Roles) error {
		away(t, "a view more", s.View(t.Context(), nothing), "store_unavailable")
		return errors.Join(put(s, "eu"), caller(s), beat(s, nodeName(0)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.View(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
}

// A server that takes no more connections, and one that takes no writes, are away until they do.
func TestServerRefuses(t *testing.T) {
	t.Parallel()
	for refuse, allow := range map[string]string{
		"CONNECTION LIMIT 0": "CONNECTION LIMIT -1", "SET default_transaction_read_only = on": "RESET default_transaction_read_only",
	} {
		dsn := database(t)
		migrated(t, dsn)
		keepOpen := raw(t, dsn)
		keepOpen.SetMaxOpenConns(1)
		var name string
		if err := keepOpen.QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
			t.Fatal(err)
		}
		alter := func(how string) {
			t.Helper()
			if _, err := keepOpen.ExecContext(t.Context(), "ALTER DATABASE "+name+" "+how); err != nil {
				t.Fatal(err)
			}
		}
		alter(refuse)
		s := bare(t, dsn, pgstore.Options{})
		for what, err := range everything(s) {
			away(t, what+" after "+refuse, err, "store_unavailable")
		}
		alter(allow)
		if err := put(s, "eu"); err != nil {
			t.Fatalf("after %s: %v", allow, err)
		}
	}
}

// A store that was closed refuses what comes later.
func TestClosed(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{})
	if err := errors.Join(put(s, "us"), s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for what, err := range everything(s) {
		away(t, what, err, "store_unavailable")
	}
}

// The rounds of two replicas, and what is written beside them, abort no round: no beat is served twice for another's
// sake.
func TestRoundsOfReplicas(t *testing.T) {
	t.Parallel()
	const nodes, beats = 40, 15
	dsn := database(t)
	migrated(t, dsn)
	var aborted atomic.Int64
	p, through := between(t, dsn)
	p.watch(hooks{answered: func(chunk []byte) bool {
		if bytes.Contains(chunk, []byte("C40001\x00")) || bytes.Contains(chunk, []byte("C40P01\x00")) {
			aborted.Add(1)
		}
		return false
	}})
	replicas := []*pgstore.Store{bare(t, through, pgstore.Options{}), bare(t, through, pgstore.Options{})}
	do(t, replicas[0], func(ctx context.Context, r *store.Roles) error { return fleetIn(ctx, r, nodes) })
	errs := make(chan error, 2*nodes)
	for i := range 2 * nodes {
		go func() {
			for n := range beats {
				ticket := store.Ticket{Scope: "s", Nonce: fmt.Sprint(i, n), ExpiresAt: noon}
				if _, err := replicas[i%2].Beat(t.Context(), nodeName(i/2), ticket, use); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := aborted.Load(); n != 0 {
		t.Errorf("%d rounds were aborted", n)
	}
	if err := replicas[1].View(t.Context(), func(ctx context.Context, r *store.Roles) error {
		for i := range nodes {
			l, err := r.Leases.Get(ctx, nodeName(i))
			if err == nil && l.Record().Usage.Tenants != 2*beats {
				err = fmt.Errorf("node %d was beaten %d times", i, l.Record().Usage.Tenants)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// use counts a tenant on the lease.
func use(_ *placement.Node, l *placement.Lease) error {
	record := l.Record()
	record.Usage.Tenants++
	*l = *placement.RestoreLease(record)
	return nil
}

// However many write the same at once, and through however many replicas, each is served: one that lost is repeated
// alone.
func TestContendedWritesAllSucceed(t *testing.T) {
	t.Parallel()
	const many, each = 12, 6
	dsn := database(t)
	migrated(t, dsn)
	replicas := []*pgstore.Store{bare(t, dsn, pgstore.Options{}), bare(t, dsn, pgstore.Options{})}
	do(t, replicas[0], func(ctx context.Context, r *store.Roles) error { return fleetIn(ctx, r, 2) })
	errs := make(chan error, many)
	for i := range many {
		go func() {
			var err error
			for range each {
				err = errors.Join(err, replicas[i%2].Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
					if _, err := r.Leases.Get(ctx, nodeName(1-i%2)); err != nil {
						return err
					}
					return store.UpdateIn(ctx, r.Leases, nodeName(i%2), func(l *placement.Lease) error { return use(nil, l) })
				}))
			}
			errs <- err
		}()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := replicas[0].View(t.Context(), func(ctx context.Context, r *store.Roles) error {
		for i := range 2 {
			l, err := r.Leases.Get(ctx, nodeName(i))
			if err == nil && l.Record().Usage.Tenants != many/2*each {
				err = fmt.Errorf("lease %d counts %d", i, l.Record().Usage.Tenants)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// Each connection is set up so that a commit that is answered is on disk, whatever the database's own settings are.
func TestSettingsOfTheRole(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	for key, value := range map[string]string{
		"synchronous_commit": "off", "standard_conforming_strings": "off", "bytea_output": "escape",
		"default_transaction_isolation": "serializable", "client_encoding": "LATIN1", "lock_timeout": "1",
		"idle_in_transaction_session_timeout": "1",
	} {
		dsn = with(t, dsn, key, value)
	}
	s := open(t, dsn)
	odd := `it's \ a "Ünï" \' x`
	if err := put(s, odd); err != nil {
		t.Fatal(err)
	}
	has(t, s, odd)
	err := s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
		return fault.New(fault.Conflict, "mine", "undone")
	})
	refused(t, "the caller's own", err, fault.Conflict, "mine")
}

// A replica that stands still in the middle of a transaction, as one that is paused, holds others up no longer than a
// statement may take, and what it did is not kept.
func TestStandsStillInATransaction(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{StatementTimeout: 200 * time.Millisecond})
	other := bare(t, dsn, pgstore.Options{})
	err := s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
		if err := addRegion(ctx, r, "eu"); err != nil {
			return err
		}
		return put(other, "eu") // which waits for the first to end
	})
	away(t, "the one that stood still", err, "store_unavailable")
	has(t, s, "eu")
}
