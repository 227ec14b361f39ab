package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"berth/adapters/store/sqlitestore"
)

// migrateOnly makes this program open the database it names, upgrade it and end: a second process for the tests.
const migrateOnly = "SQLITESTORE_TEST_MIGRATE"

// No store leaves a goroutine behind once it is closed.
func TestMain(m *testing.M) {
	if path := os.Getenv(migrateOnly); path != "" {
		if err := migrate(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func migrate(path string) error {
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := upgrade(ctx, s); err != nil {
		return err
	}
	return s.Ping(ctx)
}

func upgrade(ctx context.Context, s *sqlitestore.Store) error {
	_, err := s.Migrate(ctx)
	return err
}

// process is this program as another process that upgrades the database.
func process(tb testing.TB, path string) *exec.Cmd {
	tb.Helper()
	c := exec.CommandContext(tb.Context(), os.Args[0])
	c.Env = append(os.Environ(), migrateOnly+"="+path)
	return c
}
