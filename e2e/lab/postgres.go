// Package lab brings up what tests need outside of their own process.
package lab

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// Postgres makes an empty database, owned by a role of its own that is no superuser, and returns its DSN. It is dropped
// when the test ends. The server is the one that BERTH_TEST_POSTGRES names, by a superuser's DSN.
func Postgres(tb testing.TB) string {
	tb.Helper()
	server := os.Getenv("BERTH_TEST_POSTGRES")
	if server == "" {
		tb.Fatal("BERTH_TEST_POSTGRES names no server")
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		tb.Fatal(err)
	}
	name := "t_" + strings.ToLower(rand.Text()[:16])
	run := func(statement string) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := db.ExecContext(ctx, statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
	run("CREATE ROLE " + name + " LOGIN PASSWORD '" + name + "'")
	run("CREATE DATABASE " + name + " OWNER " + name)
	tb.Cleanup(func() {
		run("DROP DATABASE " + name + " WITH (FORCE)")
		run("DROP ROLE " + name)
		_ = db.Close()
	})
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	u.User, u.Path, u.RawQuery = url.UserPassword(name, name), "/"+name, "sslmode=disable"
	return u.String()
}
