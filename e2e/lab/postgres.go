// Package lab brings up what tests need from outside.
package lab

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Postgres returns the DSN of a fresh, empty database that a role without special rights owns, on the server that
// BERTH_TEST_POSTGRES names. Both are dropped at the end of the test.
func Postgres(tb testing.TB) string {
	tb.Helper()
	server := os.Getenv("BERTH_TEST_POSTGRES")
	var b [8]byte
	_, _ = rand.Read(b[:])
	name := "lab_" + hex.EncodeToString(b[:])
	run(tb, server, "CREATE ROLE "+name+" LOGIN PASSWORD '"+name+"'")
	run(tb, server, "CREATE DATABASE "+name+" OWNER "+name)
	tb.Cleanup(func() {
		run(tb, server, "DROP DATABASE "+name+" WITH (FORCE)")
		run(tb, server, "DROP ROLE "+name)
	})
	dsn, err := url.Parse(server)
	if err != nil {
		tb.Fatal("BERTH_TEST_POSTGRES is no URL")
	}
	dsn.User, dsn.Path = url.UserPassword(name, name), "/"+name
	return dsn.String()
}

func run(tb testing.TB, dsn, sql string) {
	tb.Helper()
	conn, err := pgconn.Connect(context.Background(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(context.Background(), sql).ReadAll(); err != nil {
		tb.Fatal(err)
	}
}
