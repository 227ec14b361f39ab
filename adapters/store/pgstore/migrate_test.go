package pgstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/store/pgstore"
	"berth/domain/fault"
	"berth/ports/store"
)

func status(tb testing.TB, s *pgstore.Store) []pgstore.Migration {
	tb.Helper()
	out, err := s.Status(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// A new database answers as outdated until it is upgraded, everywhere; upgrading again changes nothing.
func TestMigrateFromEmpty(t *testing.T) {
	t.Parallel()
	s := bare(t, database(t), pgstore.Options{})
	for what, err := range everything(s) {
		refused(t, what, err, fault.Unavailable, "schema_outdated")
	}
	before := status(t, s)
	if len(before) == 0 || !before[0].AppliedAt.IsZero() || before[0].SQL != "" {
		t.Fatalf("an empty database has the steps %+v", before)
	}
	for range 2 {
		if err := errors.Join(upgrade(t.Context(), s), s.Ping(t.Context()), s.View(t.Context(), nothing)); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range status(t, s) {
		if m.Version != i+1 || m.Name != before[i].Name || m.Checksum != before[i].Checksum || m.ReadableFrom < 1 ||
			time.Since(m.AppliedAt) > time.Hour {
			t.Fatalf("step %d is told of as %+v", i+1, m)
		}
	}
}

// Of several that upgrade at once each tells of the steps that it took itself.
func TestStepsAreToldByWhoTookThem(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	var taken [4][]pgstore.Migration
	var group sync.WaitGroup
	for i := range taken {
		s := bare(t, dsn, pgstore.Options{})
		pgstore.LaterSteps(s, 1, "CREATE TABLE later ()")
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

// Replicas that start at once on an empty database all come up: goroutines with stores of their own, and processes.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	errs := make([]error, 11)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			if i < 8 {
				errs[i] = migrate(dsn)
			} else if out, err := process(t, dsn).CombinedOutput(); err != nil {
				errs[i] = errors.New(string(out))
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, m := range status(t, bare(t, dsn, pgstore.Options{})) {
		if m.Version != i+1 || m.AppliedAt.IsZero() {
			t.Fatalf("step %d is told of as %+v", i+1, m)
		}
	}
}

// A step that another program takes is waited for, as long as the context lasts, whatever is being asked when it ends.
func TestMigrateWaitsItsTurn(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := bare(t, dsn, pgstore.Options{})
	locked(t, dsn, "SELECT pg_advisory_xact_lock(1114797160, hashtext(coalesce(current_schema(), '')))", func() {
		for i := range 60 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond+time.Duration(i)*100*time.Microsecond)
			refused(t, "migrate", upgrade(ctx, s), fault.Unavailable, "request_ended")
			cancel()
		}
	})
	if err := errors.Join(upgrade(t.Context(), s), s.Ping(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// A database that another program made, changed or upgraded further is refused by every way in, and left as it is.
func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	for name, c := range map[string]struct {
		made    bool
		change  string
		slug    string
		mention string
	}{
		"newer":                  {true, "INSERT INTO schema_history VALUES (4, 'later', 'c', 1, 4)", "schema_newer", "4 (later)"},
		"newer with a gap":       {true, "INSERT INTO schema_history VALUES (5, 'later', 'c', 1, 1)", "schema_altered", "5 (later)"},
		"altered":                {true, "UPDATE schema_history SET checksum = 'other' WHERE version = 1", "schema_altered", "1 (initial)"},
		"foreign":                {false, "CREATE TABLE theirs (id TEXT)", "schema_foreign", "another product"},
		"foreign by a view":      {false, "CREATE VIEW theirs AS SELECT 1", "schema_foreign", "another product"},
		"foreign with a history": {false, "CREATE TABLE schema_history (version BIGINT)", "schema_foreign", "another product"},
		"foreign by its comment": {true, "COMMENT ON TABLE schema_history IS 'other'", "schema_foreign", "another product"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := schema(t, dsn)
			if c.made {
				migrated(t, dsn)
			}
			change(t, dsn, c.change)
			s := bare(t, dsn, pgstore.Options{})
			errs := everything(s)
			errs["migrate"] = upgrade(t.Context(), s)
			for what, err := range errs {
				refused(t, what, err, fault.Conflict, c.slug)
				if !strings.Contains(err.Error(), c.mention) {
					t.Errorf("%s does not name %q: %v", what, c.mention, err)
				}
			}
		})
	}
}

// A later program finds an earlier schema outdated and upgrades it, step by step: what a failing step did is undone, and
// the steps before it stay. The earlier program works on beside it while the steps only expand the schema, and refuses the
// database after one that takes something away.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	migrated(t, dsn)
	earlier := bare(t, dsn, pgstore.Options{Writers: 1, Readers: 1, Callers: 1}) // so that connections are used again
	broken := bare(t, dsn, pgstore.Options{})
	pgstore.LaterSteps(broken, 1, "CREATE TABLE one (id TEXT)", "CREATE TABLE two (id TEXT); CREATE TABLE one (id TEXT)")
	refused(t, "ping", broken.Ping(t.Context()), fault.Unavailable, "schema_outdated")
	refused(t, "migrate", upgrade(t.Context(), broken), fault.Internal, "store_failed")
	refused(t, "ping", broken.Ping(t.Context()), fault.Unavailable, "schema_outdated")

	later := bare(t, dsn, pgstore.Options{})
	pgstore.LaterSteps(later, 1, "CREATE TABLE one (id TEXT)", "ALTER TABLE relay_regions ADD COLUMN hue TEXT; CREATE TABLE two (id TEXT)")
	if err := errors.Join(upgrade(t.Context(), later), later.Ping(t.Context())); err != nil {
		t.Fatal(err)
	}
	before := status(t, earlier)
	if err := errors.Join(earlier.Ping(t.Context()), upgrade(t.Context(), earlier), put(earlier, "eu"), put(later, "us")); err != nil {
		t.Fatal("the earlier program after steps that expand the schema:", err)
	}
	has(t, earlier, "eu us")
	if after := status(t, earlier); len(after) != 5 || !slices.Equal(after, before) {
		t.Fatalf("the earlier program made %+v of %+v", after, before)
	}

	everything(earlier)
	pgstore.LaterSteps(later, 6, "DROP TABLE one")
	if err := errors.Join(upgrade(t.Context(), later), later.Ping(t.Context())); err != nil {
		t.Fatal(err)
	}
	refused(t, "ping of the earlier program", earlier.Ping(t.Context()), fault.Conflict, "schema_newer")
	for what, err := range everything(earlier) { // on connections that were made before
		refused(t, what+" of the earlier program", err, fault.Conflict, "schema_newer")
	}
	refused(t, "migrate by the earlier program", upgrade(t.Context(), earlier), fault.Conflict, "schema_newer")
}

// A role that lacks a right is told so by Ping, with what to grant, and not first by the request that needs it.
func TestRightsAreJudgedAtTheStart(t *testing.T) {
	t.Parallel()
	base := database(t)
	for _, c := range []struct{ revoke, mention string }{
		{"UPDATE ON tenant_placements", "UPDATE on tenant_placements"},
		{"INSERT ON audit_log", "INSERT on audit_log"},
		{"UPDATE ON writers", "UPDATE on writers"},
		{"SELECT ON schema_history", ""},
	} {
		dsn := schema(t, base)
		s := open(t, dsn)
		change(t, dsn, "REVOKE "+c.revoke+" FROM CURRENT_USER")
		err := s.Ping(t.Context())
		away(t, c.revoke, err, "database_rights_missing")
		if f, _ := fault.As(err); !strings.Contains(f.Detail, c.mention) || !strings.Contains(strings.ToUpper(f.Cure), "GRANT ") {
			t.Errorf("%s: %q, %q", c.revoke, f.Detail, f.Cure)
		}
	}
	dsn := schema(t, base)
	s := open(t, dsn)
	change(t, dsn, "REVOKE UPDATE, DELETE ON audit_log FROM CURRENT_USER")
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("a log that can only be added to: %v", err)
	}
	change(t, dsn, "REVOKE INSERT ON relay_regions FROM CURRENT_USER")
	away(t, "a write without the right", put(s, "eu"), "database_rights_missing")
	err := s.View(t.Context(), func(ctx context.Context, r *store.Roles) error {
		_, err := r.Regions.Get(ctx, "eu")
		return err
	})
	refused(t, "a view", err, fault.NotFound, "region_not_found")
}

// A role is asked for its rights on every table that there is.
func TestRightsOnEveryTable(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	var all string
	if err := raw(t, dsn).QueryRowContext(t.Context(), `SELECT string_agg(relname, ' ' ORDER BY relname COLLATE "C") FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> 'schema_history'`).Scan(&all); err != nil {
		t.Fatal(err)
	}
	if asked := strings.Join(slices.Sorted(slices.Values(pgstore.Tables(s))), " "); asked != all {
		t.Errorf("asked for %s\nof %s", asked, all)
	}
}

// What a later program added is none of an earlier one's business: it is ready though its role may not touch it.
func TestRightsOnWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	earlier, later := open(t, dsn), bare(t, dsn, pgstore.Options{})
	pgstore.LaterSteps(later, 1, "CREATE TABLE news (id TEXT)")
	if err := upgrade(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	change(t, dsn, "REVOKE INSERT ON news FROM CURRENT_USER")
	away(t, "the later program", later.Ping(t.Context()), "database_rights_missing")
	if err := earlier.Ping(t.Context()); err != nil {
		t.Errorf("the earlier program: %v", err)
	}
}

// A role that may make no tables is told what it lacks when it is to make some.
func TestMigrateWithoutRights(t *testing.T) {
	t.Parallel()
	dsn := schema(t, database(t))
	change(t, dsn, "REVOKE CREATE ON SCHEMA "+name(t, dsn)+" FROM CURRENT_USER")
	s := bare(t, dsn, pgstore.Options{})
	away(t, "migrate", upgrade(t.Context(), s), "database_rights_missing")
	s = bare(t, with(t, dsn, "search_path", "nowhere"), pgstore.Options{})
	away(t, "migrate nowhere", upgrade(t.Context(), s), "database_rights_missing")
}

func name(tb testing.TB, dsn string) (name string) {
	tb.Helper()
	if err := raw(tb, dsn).QueryRowContext(tb.Context(), "SELECT current_schema()").Scan(&name); err != nil {
		tb.Fatal(err)
	}
	return name
}
