package sqlitestore_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"berth/adapters/store/sqlitestore"
	"berth/migrations"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// The store keeps every law of its port.
func TestLaws(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(tb testing.TB) store.Store { return open(tb, filepath.Join(tb.TempDir(), "control.db")) })
}

// It keeps them beside a later program, whose step added a column to every table.
func TestLawsAfterALaterStep(t *testing.T) {
	t.Parallel()
	sql, err := migrations.SQLite.ReadFile("sqlite/0001_initial.sql")
	if err != nil {
		t.Fatal(err)
	}
	var step strings.Builder
	for _, table := range regexp.MustCompile(`CREATE TABLE (\w+)`).FindAllStringSubmatch(string(sql), -1) {
		step.WriteString("ALTER TABLE " + table[1] + " ADD COLUMN later TEXT NOT NULL DEFAULT 'later'; ")
	}
	storetest.Run(t, func(tb testing.TB) store.Store {
		path := filepath.Join(tb.TempDir(), "control.db")
		earlier, later := open(tb, path), bare(tb, path)
		sqlitestore.LaterSteps(later, 1, step.String())
		if _, err := later.Migrate(tb.Context()); err != nil {
			tb.Fatal(err)
		}
		return earlier
	})
}

// open opens a store and makes its schema.
func open(tb testing.TB, path string) *sqlitestore.Store {
	tb.Helper()
	s := bare(tb, path)
	if err := upgrade(tb.Context(), s); err != nil {
		tb.Fatal(err)
	}
	return s
}

// bare opens a store as it is.
func bare(tb testing.TB, path string) *sqlitestore.Store {
	tb.Helper()
	s, err := sqlitestore.Open(tb.Context(), path, sqlitestore.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// Every connection is set up so that a commit is on disk before it is answered, references hold, and views can not write.
func TestConnections(t *testing.T) {
	t.Parallel()
	s := open(t, file(t))
	for _, c := range []struct {
		reader     bool
		name, want string
	}{
		{false, "journal_mode", "wal"}, {false, "synchronous", "2"}, {false, "foreign_keys", "1"}, {false, "query_only", "0"},
		{false, "busy_timeout", "2500"}, {true, "query_only", "1"}, {true, "busy_timeout", "2500"},
	} {
		if got := sqlitestore.Pragma(t, s, c.reader, c.name); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
}
