package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/store/sqlitestore"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

func file(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "control.db")
}

func refused(tb testing.TB, what string, err error, kind fault.Kind, slug string) {
	tb.Helper()
	if e, ok := fault.As(err); !ok || e.Kind != kind || e.Slug != slug {
		tb.Fatalf("%s: want %s %s, got %v", what, kind, slug, err)
	}
}

// change runs SQL behind the store's back.
func change(tb testing.TB, path string, statements ...string) {
	tb.Helper()
	db := raw(tb, path)
	for _, statement := range statements {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
}

func raw(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

// A new database answers as outdated until it is upgraded, everywhere; upgrading again changes nothing.
func TestMigrateFromEmpty(t *testing.T) {
	t.Parallel()
	s := bare(t, file(t))
	_, _, caller := s.Caller(t.Context(), "fp")
	_, poll := s.Poll(t.Context(), "a")
	_, beat := s.Beat(t.Context(), "n", store.Ticket{}, func(*placement.Node, *placement.Lease) error { return nil })
	nothing := func(context.Context, *store.Roles) error { return nil }
	for what, err := range map[string]error{
		"ping": s.Ping(t.Context()), "caller": caller, "poll": poll, "beat": beat,
		"view": s.View(t.Context(), nothing), "atomically": s.Atomically(t.Context(), nothing),
	} {
		refused(t, what, err, fault.Unavailable, "schema_outdated")
	}
	before := status(t, s)
	if len(before) == 0 || !before[0].AppliedAt.IsZero() {
		t.Fatalf("an empty database has the steps %+v", before)
	}
	for range 2 {
		if err := errors.Join(upgrade(t.Context(), s), s.Ping(t.Context()), s.View(t.Context(), nothing)); err != nil {
			t.Fatal(err)
		}
	}
	after := status(t, s)
	for i, m := range after {
		if m.Version != i+1 || m.Name != before[i].Name || m.Checksum != before[i].Checksum || time.Since(m.AppliedAt) > time.Hour {
			t.Fatalf("step %d is told of as %+v", i+1, m)
		}
	}
}

func status(tb testing.TB, s *sqlitestore.Store) []sqlitestore.Migration {
	tb.Helper()
	out, err := s.Status(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Of several that upgrade at once each tells of the steps that it took itself.
func TestStepsAreToldByWhoTookThem(t *testing.T) {
	t.Parallel()
	path := file(t)
	var taken [4][]sqlitestore.Migration
	var group sync.WaitGroup
	for i := range taken {
		s := bare(t, path)
		sqlitestore.LaterSteps(s, 1, "CREATE TABLE later (x INTEGER) STRICT")
		group.Go(func() {
			var err error
			if taken[i], err = s.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var told []string
	for _, m := range slices.Concat(taken[:]...) {
		told = append(told, m.Name)
	}
	if slices.Sort(told); !slices.Equal(told, []string{"delivery", "enrolment", "initial", "later"}) {
		t.Errorf("the steps that were taken are told of as %q", told)
	}
}

// A program works on, by every law, after a later one added a column to each table: that is what a step that expands the
// schema does, and the statements are the same on Postgres, where both run side by side.
func TestLawsOnASchemaThatGrew(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(tb testing.TB) store.Store {
		path := file(tb)
		s := open(tb, path)
		db := raw(tb, path)
		rows, err := db.QueryContext(tb.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_history'")
		if err != nil {
			tb.Fatal(err)
		}
		defer rows.Close()
		var grow []string
		for rows.Next() {
			var table string
			if err := rows.Scan(&table); err != nil {
				tb.Fatal(err)
			}
			grow = append(grow, "ALTER TABLE "+table+" ADD COLUMN hue TEXT")
		}
		if err := rows.Err(); err != nil || len(grow) < 20 {
			tb.Fatal(grow, err)
		}
		change(tb, path, grow...)
		return s
	})
}

// Replicas that start at once on an empty file all come up: goroutines with handles of their own, and processes.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	path := file(t)
	errs := make([]error, 6)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			if i%2 == 0 {
				errs[i] = migrate(path)
			} else if out, err := process(t, path).CombinedOutput(); err != nil {
				errs[i] = errors.New(string(out))
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, m := range status(t, bare(t, path)) {
		if m.Version != i+1 || m.AppliedAt.IsZero() {
			t.Fatalf("step %d is told of as %+v", i+1, m)
		}
	}
}

// A database that another program made, changed or upgraded further is refused by every way in, and left as it is.
func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		made    bool
		change  []string
		slug    string
		mention string
	}{
		"newer with a gap":      {true, []string{"INSERT INTO schema_history VALUES (5, 'later', 'c', 1, 1)"}, "schema_altered", "5 (later)"},
		"newer":                 {true, []string{"INSERT INTO schema_history VALUES (4, 'later', 'c', 1, 4)"}, "schema_newer", "4 (later)"},
		"altered":               {true, []string{"UPDATE schema_history SET checksum = 'other' WHERE version = 1"}, "schema_altered", "1 (initial)"},
		"foreign":               {false, []string{"CREATE TABLE theirs (id TEXT)"}, "schema_foreign", "another product"},
		"foreign by its header": {false, []string{"PRAGMA application_id = 7"}, "schema_foreign", "another product"},
		"foreign with a history": {false, []string{
			"CREATE TABLE schema_history (version INTEGER, name TEXT, checksum TEXT, applied_at INTEGER)",
		}, "schema_foreign", "another product"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := file(t)
			if c.made {
				if err := migrate(path); err != nil {
					t.Fatal(err)
				}
			}
			change(t, path, c.change...)
			s := bare(t, path)
			for what, err := range map[string]error{
				"migrate": upgrade(t.Context(), s), "ping": s.Ping(t.Context()),
				"view": s.View(t.Context(), func(context.Context, *store.Roles) error { return nil }),
			} {
				refused(t, what, err, fault.Conflict, c.slug)
				if !strings.Contains(err.Error(), c.mention) {
					t.Errorf("%s does not name %q: %v", what, c.mention, err)
				}
			}
		})
	}
}

// The file is its owner's alone, and so are those that SQLite puts beside it; a folder that was not there is, too. A
// name means nothing but a file.
func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new", "a b?mode=memory#%41")
	path := filepath.Join(folder, "c?d#e%20.db")
	s := open(t, path)
	if err := s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
		return r.Regions.Create(ctx, placement.Region{ID: "eu"})
	}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, folder: 0o700 | os.ModeDir} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
}

// A file that can not be had is a fault that a later try may cure.
func TestOpenUnavailable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Join(text, "control.db")} {
		_, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
		refused(t, path, err, fault.Unavailable, "store_unavailable")
	}
}

// A later program finds an earlier schema outdated and upgrades it, step by step: what a failing step did is undone, and
// the steps before it stay. The earlier program works on beside it while the steps only expand the schema, and refuses the
// database after one that takes something away.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	path := file(t)
	earlier := open(t, path)
	broken := bare(t, path)
	sqlitestore.LaterSteps(broken, 1, "CREATE TABLE one (id TEXT)", "CREATE TABLE two (id TEXT); CREATE TABLE one (id TEXT)")
	refused(t, "ping", broken.Ping(t.Context()), fault.Unavailable, "schema_outdated")
	refused(t, "migrate", upgrade(t.Context(), broken), fault.Internal, "store_failed")
	refused(t, "ping", broken.Ping(t.Context()), fault.Unavailable, "schema_outdated")

	later := bare(t, path)
	sqlitestore.LaterSteps(later, 1, "CREATE TABLE one (id TEXT)", "CREATE TABLE two (id TEXT)")
	if err := errors.Join(upgrade(t.Context(), later), later.Ping(t.Context())); err != nil {
		t.Fatal(err)
	}
	before := status(t, earlier)
	if err := errors.Join(earlier.Ping(t.Context()), upgrade(t.Context(), earlier), earlier.Atomically(t.Context(), addRegion("eu"))); err != nil {
		t.Fatal("the earlier program after steps that expand the schema:", err)
	}
	if after := status(t, earlier); len(after) != 5 || !slices.Equal(after, before) {
		t.Fatalf("the earlier program made %+v of %+v", after, before)
	}

	sqlitestore.LaterSteps(later, 6, "DROP TABLE one")
	if err := errors.Join(upgrade(t.Context(), later), later.Ping(t.Context())); err != nil {
		t.Fatal(err)
	}
	refused(t, "ping of the earlier program", earlier.Ping(t.Context()), fault.Conflict, "schema_newer")
	refused(t, "migrate by the earlier program", upgrade(t.Context(), earlier), fault.Conflict, "schema_newer")
}
