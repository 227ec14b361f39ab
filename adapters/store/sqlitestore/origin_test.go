package sqlitestore_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"berth/adapters/store/sqlitestore"
	port "berth/ports/store"
)

// A file that a backup was put in the place of is another history: what was counted of its rows before does not hold (P9).
func TestReplacedFileIsAnotherHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.db")
	s := open(t, path)
	well(t, "a write", putRegion(s, "eu"))
	saved, before := copyOf(t, path), originOf(t, s)
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + suffix)
	}
	if err := os.Rename(saved, path); err != nil {
		t.Fatal(err)
	}
	after := originOf(t, s)
	if after == before {
		t.Errorf("both files read as the history %q", after)
	}
	well(t, "a write", putRegion(s, "us"))
	if again := originOf(t, s); again != after {
		t.Errorf("one file reads as %q and as %q", after, again)
	}
}

func originOf(t *testing.T, s *sqlitestore.Store) (origin string) {
	t.Helper()
	well(t, "a read", s.View(context.Background(), func(_ context.Context, r *port.Roles) error {
		origin = r.Origin
		return nil
	}))
	return origin
}
