package sqlitestore_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"berth/adapters/store/sqlitestore"
	"berth/domain/fault"
	"berth/domain/placement"
	port "berth/ports/store"
)

// A file that is deleted takes no write that nobody would find, and service resumes when it is put back.
func TestDeletedFileIsAwayUntilItIsBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.db")
	s := open(t, path)
	well(t, "a write", putRegion(s, "eu"))
	saved := copyOf(t, path)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + suffix)
	}
	allAway(t, s, "without a file")
	if _, err := os.Stat(path); err == nil {
		t.Fatalf("an empty database was made in place of the deleted one")
	}
	if err := os.Rename(saved, path); err != nil {
		t.Fatal(err)
	}
	well(t, "a read after it is back", getRegion(s, "eu"))
	well(t, "a write after it is back", putRegion(s, "us"))
	well(t, "what was written after it is back", getRegion(open(t, path), "us"))
}

// A file that another was put in the place of is not written to any more.
func TestReplacedFileIsTheNewOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.db")
	s := open(t, path)
	well(t, "a write", putRegion(s, "eu"))
	saved := copyOf(t, path)
	well(t, "a write after the backup", putRegion(s, "later"))
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + suffix)
	}
	if err := os.Rename(saved, path); err != nil {
		t.Fatal(err)
	}
	if err := getRegion(s, "later"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the old file is still read: %v", err)
	}
	well(t, "a write", putRegion(s, "new"))
	well(t, "what was written", getRegion(open(t, path), "new"))
}

// A file that goes away while a view waits for another call hangs neither.
func TestFileGoesAwayWithinAView(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.db")
	s := open(t, path)
	well(t, "a write", putRegion(s, "eu"))
	done := make(chan error, 1)
	go func() {
		done <- s.View(context.Background(), func(ctx context.Context, r *port.Roles) error {
			if _, err := r.Regions.Get(ctx, "eu"); err != nil {
				return err
			}
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(path + suffix)
			}
			aside := make(chan error, 1)
			go func() { aside <- putRegion(s, "lost") }()
			if err := <-aside; fault.SlugOf(err) != "store_unavailable" {
				return fmt.Errorf("the write gave %w", err)
			}
			return nil
		})
	}()
	select {
	case err := <-done:
		well(t, "the view", err)
	case <-time.After(20 * time.Second):
		t.Fatal("both hang")
	}
}

// Another program's database is refused and left as it was, to the byte.
func TestForeignFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]string{
		"tables": "CREATE TABLE shopping (item TEXT)", "mark": "PRAGMA application_id = 4711; CREATE TABLE t (a)",
	} {
		path := filepath.Join(t.TempDir(), "other.db")
		db := plain(t, path)
		runOn(t, db, setup)
		_ = db.Close()
		before, _ := os.ReadFile(path)
		s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
		if err == nil {
			err = upgrade(t.Context(), s)
			if ping := s.Ping(t.Context()); fault.SlugOf(ping) != "schema_foreign" {
				t.Errorf("%s: ping gave %v", name, ping)
			}
			_ = s.Close()
		}
		if fault.SlugOf(err) != "schema_foreign" {
			t.Errorf("%s: got %v", name, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s: the other program's file was changed", name)
		}
	}
}

func allAway(t *testing.T, s port.Store, when string) {
	t.Helper()
	isAway(t, "a write "+when, putRegion(s, "lost"))
	isAway(t, "a read "+when, getRegion(s, "eu"))
	isAway(t, "a ping "+when, s.Ping(t.Context()))
	_, err := s.Beat(t.Context(), "n", port.Ticket{}, func(*placement.Node, *placement.Lease) error { return nil })
	isAway(t, "a beat "+when, err)
	_, _, err = s.Caller(t.Context(), "fp")
	isAway(t, "a caller "+when, err)
	_, err = s.Poll(t.Context(), "a")
	isAway(t, "a poll "+when, err)
}

func isAway(t *testing.T, what string, err error) {
	t.Helper()
	if e, ok := fault.As(err); !ok || e.Kind != fault.Unavailable || e.Slug != "store_unavailable" || e.RetryAfter <= 0 {
		t.Errorf("%s: want store_unavailable with a time to try again, got %v", what, err)
	}
}

func well(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func putRegion(s port.Store, id string) error {
	return s.Atomically(context.Background(), func(ctx context.Context, r *port.Roles) error {
		return r.Regions.Create(ctx, placement.Region{ID: id})
	})
}

func getRegion(s port.Store, id string) error {
	return s.View(context.Background(), func(ctx context.Context, r *port.Roles) error {
		_, err := r.Regions.Get(ctx, id)
		return err
	})
}

func plain(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func runOn(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := path + ".backup"
	runOn(t, plain(t, path), fmt.Sprintf("VACUUM INTO '%s'", to))
	return to
}

// A write-ahead log that somebody removes takes nothing with it: what was answered before is kept, and what is answered
// after is found by whoever opens the file anew.
func TestRemovedLogLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.db")
	s := open(t, path)
	well(t, "a write", putRegion(s, "before"))
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	well(t, "a write after the log was removed", putRegion(s, "after"))
	well(t, "a read of what was written before", getRegion(s, "before"))
	anew := open(t, path)
	well(t, "what was written before", getRegion(anew, "before"))
	well(t, "what was written after", getRegion(anew, "after"))
}

// A file that is no database is told apart from one that is away: waiting does not help it.
func TestAFileThatIsNoDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{})
	if err == nil {
		err = s.Ping(context.Background())
		_ = s.Close()
	}
	if f, ok := fault.As(err); !ok || f.Slug != "store_unreadable" || f.Cure == "" {
		t.Fatalf("got %v", err)
	}
}
