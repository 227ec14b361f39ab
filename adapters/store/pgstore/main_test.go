package pgstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"berth/adapters/store/pgstore"
	"berth/e2e/lab"
)

// migrateOnly makes this program open the database it names, upgrade it and end: a second process for the tests.
const migrateOnly = "PGSTORE_TEST_MIGRATE"

// No store leaves a goroutine behind once it is closed.
func TestMain(m *testing.M) {
	if dsn := os.Getenv(migrateOnly); dsn != "" {
		if err := migrate(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func migrate(dsn string) error {
	ctx := context.Background()
	s, err := pgstore.Open(ctx, dsn, pgstore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := upgrade(ctx, s); err != nil {
		return err
	}
	return s.Ping(ctx)
}

func upgrade(ctx context.Context, s *pgstore.Store) error {
	_, err := s.Migrate(ctx)
	return err
}

// process is this program as another process that upgrades the database.
func process(tb testing.TB, dsn string) *exec.Cmd {
	tb.Helper()
	c := exec.CommandContext(tb.Context(), os.Args[0])
	c.Env = append(os.Environ(), migrateOnly+"="+dsn)
	return c
}

// database is an empty database.
func database(tb testing.TB) string {
	tb.Helper()
	return lab.Postgres(tb)
}

// open opens a store and makes its schema.
func open(tb testing.TB, dsn string) *pgstore.Store {
	tb.Helper()
	s := bare(tb, dsn, pgstore.Options{})
	if err := upgrade(tb.Context(), s); err != nil {
		tb.Fatal(err)
	}
	return s
}

// bare opens a store as it is.
func bare(tb testing.TB, dsn string, o pgstore.Options) *pgstore.Store {
	tb.Helper()
	s, err := pgstore.Open(tb.Context(), dsn, o)
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

// raw is a way to the database beside the store.
func raw(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

// change runs SQL behind the store's back.
func change(tb testing.TB, dsn string, statements ...string) {
	tb.Helper()
	db := raw(tb, dsn)
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}

var schemas atomic.Int64

// schema makes another empty schema in a database, which is much sooner made than another database.
func schema(tb testing.TB, dsn string) string {
	tb.Helper()
	name := fmt.Sprintf("s%d", schemas.Add(1))
	change(tb, dsn, "CREATE SCHEMA "+name)
	return with(tb, dsn, "search_path", name)
}

// with is a DSN with one parameter more.
func with(tb testing.TB, dsn, key, value string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}
