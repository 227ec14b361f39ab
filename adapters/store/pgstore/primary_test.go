package pgstore_test

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"testing"

	"berth/adapters/store/pgstore"
	"berth/ports/store"
)

// posing makes a schema whose own functions, found before the system's, say which server this is: what stands in the
// table, and a standby to a connection that names itself so. The name is as long as that of a connection to the primary,
// so that a proxy can put one in place of the other.
func posing(tb testing.TB) (dsn string, pose func(system, timeline string)) {
	tb.Helper()
	dsn = database(tb)
	change(tb, dsn, "CREATE SCHEMA stage", "CREATE TABLE stage.server (system BIGINT, file TEXT, started TIMESTAMPTZ)",
		"INSERT INTO stage.server VALUES (7, '000000010000000000000001', '2026-01-01')", "CREATE SCHEMA store",
		`CREATE FUNCTION store.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql AS
			$$ SELECT started FROM stage.server $$`,
		`CREATE FUNCTION store.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS
			$$ SELECT current_setting('application_name') = 'standby' $$`,
		`CREATE FUNCTION store.pg_walfile_name(pg_lsn) RETURNS text LANGUAGE sql AS $$ SELECT file FROM stage.server $$`,
		`CREATE FUNCTION store.pg_control_system(OUT system_identifier BIGINT) LANGUAGE sql AS $$ SELECT system FROM stage.server $$`)
	pose = func(system, timeline string) {
		tb.Helper()
		change(tb, dsn, "UPDATE stage.server SET system = "+system+", file = '"+timeline+"0000000000000001'")
	}
	return with(tb, with(tb, dsn, "search_path", "store,pg_catalog"), "application_name", "primary"), pose
}

// origin is the history that a view, and a write, read.
func origin(tb testing.TB, s store.Store) (view string) {
	tb.Helper()
	var write string
	err := errors.Join(
		s.View(tb.Context(), func(_ context.Context, r *store.Roles) error { view = r.Origin; return nil }),
		s.Atomically(tb.Context(), func(_ context.Context, r *store.Roles) error { write = r.Origin; return nil }))
	if err != nil || view != write {
		tb.Fatalf("a view reads %s, a write %s; %v", view, write, err)
	}
	return view
}

// A standby is never used: not where it is the only host, and not where it is named before the primary.
func TestNeverAStandby(t *testing.T) {
	t.Parallel()
	dsn, _ := posing(t)
	s := open(t, dsn)
	if err := put(s, "eu"); err != nil {
		t.Fatal(err)
	}
	p, standby := between(t, dsn)
	p.watch(hooks{asked: func(chunk []byte) []byte {
		return bytes.ReplaceAll(chunk, []byte("application_name\x00primary"), []byte("application_name\x00standby"))
	}})
	for what, err := range everything(bare(t, standby, pgstore.Options{})) {
		away(t, what, err, "store_unavailable")
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	v, err := url.Parse(standby)
	if err != nil {
		t.Fatal(err)
	}
	for _, hosts := range []string{v.Host + "," + u.Host, u.Host + "," + v.Host} {
		u.Host = hosts
		s := bare(t, u.String(), pgstore.Options{})
		if err := s.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		has(t, s, "eu")
	}
	// A standby that takes over is found once it has.
	promoted := bare(t, standby, pgstore.Options{})
	away(t, "before", promoted.Ping(t.Context()), "store_unavailable")
	p.watch(hooks{})
	has(t, promoted, "eu")
}

// Where a newer timeline is seen, connections to the older one are used no more, and no connection goes back to it. Each
// history has a name of its own.
func TestTimelinesOnlyGrow(t *testing.T) {
	t.Parallel()
	dsn, pose := posing(t)
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{Writers: 1, Readers: 1})
	first := origin(t, s)
	if again := origin(t, s); again != first {
		t.Fatalf("the origin was %s and is %s", first, again)
	}
	pose("7", "00000002")
	if err := caller(s); err != nil { // the first of its kind, which opens a connection; those of before are idle
		t.Fatal(err)
	}
	second := origin(t, s)
	if second == first {
		t.Fatalf("both histories are named %s", first)
	}
	pose("7", "00000001")
	behind := bare(t, dsn, pgstore.Options{})
	if err := behind.Ping(t.Context()); err != nil {
		t.Fatal("a program that knows no better:", err)
	}
	if again := origin(t, s); again != second {
		t.Fatalf("the origin was %s and is %s", second, again)
	}
	change(t, dsn, terminateAll)
	for what, err := range everything(s) {
		away(t, what+" on a server that was taken over from", err, "store_unavailable")
	}
	pose("7", "00000003")
	if third := origin(t, s); third == second || third == first {
		t.Fatalf("the third history is named %s", third)
	}
	pose("8", "00000004")
	change(t, dsn, terminateAll)
	for what, err := range everything(s) {
		away(t, what+" on another cluster", err, "store_unavailable")
	}
}

// A server that was started anew may be one whose files were put back: its history has another name, though system and
// timeline are what they were, and so has the one that is read from another schema.
func TestServerStartedAnew(t *testing.T) {
	t.Parallel()
	dsn, _ := posing(t)
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{})
	first := origin(t, s)
	change(t, dsn, "UPDATE stage.server SET started = started + interval '1 microsecond'", terminateAll)
	second := origin(t, s)
	if second == first {
		t.Fatalf("both histories are named %s", first)
	}
	change(t, dsn, "CREATE SCHEMA elsewhere")
	elsewhere := with(t, dsn, "search_path", "elsewhere,store,pg_catalog")
	migrated(t, elsewhere)
	if other := origin(t, bare(t, elsewhere, pgstore.Options{})); other == second {
		t.Fatalf("two schemas have the history %s", other)
	}
}

// What runs while another server is found to have taken over is not committed, and not believed.
func TestTakenOverInATransaction(t *testing.T) {
	t.Parallel()
	dsn, pose := posing(t)
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{})
	timeline := 1
	overtake := func() error {
		timeline++
		pose("7", "0000000"+string(rune('0'+timeline)))
		return bareMeet(t, s)
	}
	err := s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
		if err := addRegion(ctx, r, "lost"); err != nil {
			return err
		}
		return overtake()
	})
	away(t, "the write", err, "store_unavailable")
	away(t, "the view", s.View(t.Context(), func(context.Context, *store.Roles) error { return overtake() }), "store_unavailable")
	has(t, s, "")
}

// bareMeet lets a store open one connection more than it had.
func bareMeet(tb testing.TB, s *pgstore.Store) error {
	tb.Helper()
	return s.View(context.Background(), func(context.Context, *store.Roles) error {
		return s.View(context.Background(), func(context.Context, *store.Roles) error {
			return s.View(context.Background(), nothing)
		})
	})
}
