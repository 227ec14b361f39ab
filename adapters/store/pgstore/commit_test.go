package pgstore_test

import (
	"context"
	"testing"

	"berth/adapters/store/pgstore"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// A connection that is lost before the commit was forwarded: nothing is kept, and nothing is said to be.
func TestCutBeforeTheCommit(t *testing.T) {
	t.Parallel()
	p, dsn := between(t, database(t))
	s := open(t, dsn)
	p.watch(cutBefore())
	err := put(s, "lost")
	if kind := fault.KindOf(err); kind != fault.Unavailable {
		t.Fatalf("got %v", err)
	}
	p.watch(hooks{})
	has(t, s, "")
}

// A connection that is lost with the answer to a commit: the caller learns that it is not known, and one who tries again
// what reads first does not do it twice.
func TestCutAfterTheCommit(t *testing.T) {
	t.Parallel()
	p, dsn := between(t, database(t))
	s := open(t, dsn)
	p.watch(cutAfter())
	away(t, "the write", put(s, "eu"), "commit_unknown")
	p.watch(hooks{})
	has(t, s, "eu")
	refused(t, "the write again", put(s, "eu"), fault.AlreadyExists, "region_exists")
	has(t, s, "eu")
}

// A beat whose commit's answer is lost is not known to be kept; its ticket says so to one who repeats it.
func TestCutAfterTheCommitOfABeat(t *testing.T) {
	t.Parallel()
	p, dsn := between(t, database(t))
	s := open(t, dsn)
	do(t, s, func(ctx context.Context, r *store.Roles) error { return fleetIn(ctx, r, 1) })
	ticket := store.Ticket{Scope: "s", Nonce: "n", ExpiresAt: noon}
	p.watch(cutAfter())
	_, err := s.Beat(t.Context(), nodeName(0), ticket, keep)
	away(t, "the beat", err, "commit_unknown")
	p.watch(hooks{})
	_, err = s.Beat(t.Context(), nodeName(0), ticket, keep)
	refused(t, "the beat again", err, fault.Unauthenticated, "assertion_replayed")
}

// A server that ends the connection while it commits: the write is not said to be kept, whatever became of it.
func TestTerminatedAtTheCommit(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	change(t, dsn, `CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(30); RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER dying AFTER INSERT ON relay_regions DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION die()`)
	away(t, "the write", put(s, "eu"), "commit_unknown")
	change(t, dsn, "DROP TRIGGER dying ON relay_regions")
	has(t, s, "")
	if err := put(s, "eu"); err != nil {
		t.Fatal(err)
	}
	has(t, s, "eu")
}

// A server that ends the connection in the middle of a transaction: nothing is kept.
func TestTerminatedBeforeTheCommit(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	err := s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
		if err := r.Regions.Create(ctx, placement.Region{ID: "eu"}); err != nil {
			return err
		}
		change(t, dsn, terminateAll)
		_ = r.Regions.Create(ctx, placement.Region{ID: "us"}) // it makes light of the fault
		return nil
	})
	away(t, "the write", err, "store_unavailable")
	has(t, s, "")
}

const terminateAll = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
	WHERE datname = current_database() AND pid <> pg_backend_pid()`

// A commit that the database refuses with an error of its own was rolled back, and is told as what it is.
func TestFullAtTheCommit(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	for timing, slug := range map[string]string{"INITIALLY DEFERRED": "store_unavailable", "INITIALLY IMMEDIATE": "store_unavailable"} {
		change(t, dsn, `CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$`,
			`CREATE CONSTRAINT TRIGGER filling AFTER INSERT ON relay_regions DEFERRABLE `+timing+`
				FOR EACH ROW EXECUTE FUNCTION full_disk()`)
		away(t, "a full disk, "+timing, put(s, "eu"), slug)
		has(t, s, "")
		change(t, dsn, "DROP TRIGGER filling ON relay_regions")
	}
	if err := put(s, "eu"); err != nil {
		t.Fatal(err)
	}
}

// A server, or what stands before it, that can not tell whether it committed, is not taken to have rolled back.
func TestUnsureAtTheCommit(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	change(t, dsn, `CREATE FUNCTION unsure() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN RAISE EXCEPTION 'who knows' USING ERRCODE = '40003'; END $$`,
		`CREATE CONSTRAINT TRIGGER unsure AFTER INSERT ON relay_regions DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION unsure()`)
	away(t, "the write", put(s, "eu"), "commit_unknown")
}

// A server that warns while it commits did not do all that it was to: it is not known what lasts. That is so, too, where
// the role's own settings leave warnings unsaid.
func TestWarnedAtTheCommit(t *testing.T) {
	t.Parallel()
	dsn := with(t, database(t), "client_min_messages", "error")
	s := open(t, dsn)
	change(t, dsn, `CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN RAISE WARNING 'canceling wait for synchronous replication'; RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER warning AFTER INSERT ON relay_regions DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION warn()`)
	away(t, "the write", put(s, "eu"), "commit_unknown")
	has(t, s, "eu")
}

// A write whose caller left before the commit keeps nothing, and costs no connection.
func TestLeftBeforeTheCommit(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := bare(t, dsn, pgstore.Options{Writers: 1, Readers: 1})
	if err := upgrade(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var pids [2]string
	for i := range pids {
		pids[i] = backends(t, dsn)
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
			err := r.Regions.Create(ctx, placement.Region{ID: "eu"})
			cancel()
			return err
		})
		refused(t, "the write", err, fault.Unavailable, "request_ended")
		ctx, cancel = context.WithCancel(t.Context())
		err = s.View(ctx, func(ctx context.Context, r *store.Roles) error {
			cancel()
			_, err := r.Regions.Get(ctx, "eu")
			return err
		})
		refused(t, "the view", err, fault.Unavailable, "request_ended")
	}
	if err := put(s, "us"); err != nil {
		t.Fatal(err)
	}
	has(t, s, "us")
	after := backends(t, dsn)
	if pids[1] == "" || after != pids[1] {
		t.Fatalf("the connections were %s, and are %s", pids[1], after)
	}
}

// backends are the processes of the server that serve the store.
func backends(tb testing.TB, dsn string) (pids string) {
	tb.Helper()
	err := raw(tb, dsn).QueryRowContext(tb.Context(), `SELECT coalesce(string_agg(pid::text, ' ' ORDER BY pid), '')
		FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'berth'`).Scan(&pids)
	if err != nil {
		tb.Fatal(err)
	}
	return pids
}
