package sqliteengine_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/fault"
	"berth/domain/stream"
	"berth/ports/engine"
	"berth/ports/engine/enginetest"
)

func open(tb testing.TB, dir string) *sqliteengine.Disk {
	tb.Helper()
	return opened(tb, dir, stream.Limits{})
}

func opened(tb testing.TB, dir string, l stream.Limits) *sqliteengine.Disk {
	tb.Helper()
	s, err := sqliteengine.Open(tb.Context(), sqliteengine.Options{Dir: dir, Limits: l})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// node.db keeps every law, over restarts too.
func TestStore(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(tb testing.TB) enginetest.Disk {
		dir := tb.TempDir()
		return enginetest.Disk{Open: func(tb testing.TB) engine.Tenants { return open(tb, dir) }}
	})
}

// The disk keeps every law of Engines.
func TestEngines(t *testing.T) {
	t.Parallel()
	enginetest.RunEngines(t, func(tb testing.TB) enginetest.EngineDisk {
		dir := tb.TempDir()
		return enginetest.EngineDisk{Open: func(tb testing.TB, l stream.Limits) enginetest.Whole { return opened(tb, dir, l) }}
	})
}

// The file is the node's own, and what is not node.db is refused and left as it is.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	if info, err := os.Stat(filepath.Join(dir, "node.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v %v", info, err)
	}
	foreign := map[string]func(path string) error{
		"garbage": func(path string) error {
			return os.WriteFile(path, []byte("this is not a database, and it is long enough to be looked at as one, which it is not"), 0o600)
		},
		"other": executing("CREATE TABLE theirs (x)"),
		"later": executing("PRAGMA application_id = 1111839316; PRAGMA user_version = 99"),
	}
	for name, write := range foreign {
		dir := t.TempDir()
		if err := write(filepath.Join(dir, "node.db")); err != nil {
			t.Fatal(err)
		}
		if _, err := sqliteengine.Open(t.Context(), sqliteengine.Options{Dir: dir}); fault.SlugOf(err) != "engine_damaged" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := sqliteengine.Open(t.Context(), sqliteengine.Options{Dir: filepath.Join(dir, "nowhere")})
	if fault.SlugOf(err) != "engine_unavailable" {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// executing makes a database by a statement.
func executing(statement string) func(path string) error {
	return func(path string) error {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			return err
		}
		_, err = db.Exec(statement)
		return errors.Join(err, db.Close())
	}
}

// What a list of 5,000 tenants costs to make durable: one commit.
func BenchmarkSaw5000(b *testing.B) {
	s := open(b, b.TempDir())
	seen := make([]engine.Seen, 5000)
	for i := range seen {
		seen[i] = engine.Seen{Tenant: fmt.Sprintf("tenant-%d", i)}
	}
	version := int64(0)
	for b.Loop() {
		version++
		for i := range seen {
			seen[i].Generation, seen[i].Version = 1, version
		}
		if err := s.Saw(b.Context(), seen); err != nil {
			b.Fatal(err)
		}
	}
}
