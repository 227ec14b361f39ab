package sqliteengine_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/fault"
	"berth/ports/engine"
	"berth/ports/engine/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, path string) *sqliteengine.Store {
	tb.Helper()
	s, err := sqliteengine.Open(tb.Context(), path)
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
		path := filepath.Join(tb.TempDir(), "node.db")
		return enginetest.Disk{Open: func(tb testing.TB) engine.Tenants { return open(tb, path) }}
	})
}

// The file is the node's own, and what is not node.db is refused and left as it is.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "node.db")
	open(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v %v", info, err)
	}
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, []byte("this is not a database, and it is long enough to be looked at as one, which it is not"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, statement := range map[string]string{
		"other.db": "CREATE TABLE theirs (x)", "later.db": "PRAGMA application_id = 1111839316; PRAGMA user_version = 99",
	} {
		db, err := sql.Open("sqlite", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"garbage.db", "other.db", "later.db"} {
		if _, err := sqliteengine.Open(t.Context(), filepath.Join(dir, name)); fault.SlugOf(err) != "engine_damaged" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := sqliteengine.Open(t.Context(), filepath.Join(dir, "nowhere", "node.db")); fault.SlugOf(err) != "engine_unavailable" {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// What a list of 5,000 tenants costs to make durable: one commit.
func BenchmarkSaw5000(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "node.db"))
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
