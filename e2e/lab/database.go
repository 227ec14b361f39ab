package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Database is a database whose owner is no superuser.
type Database struct{ Name, User, Password string }

// URL is the database's DSN, at one or several addresses host:port.
func (d Database) URL(addresses ...string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(d.User, d.Password), Host: strings.Join(addresses, ","), Path: "/" + d.Name,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// shared is the server in a container that a test process's databases are on.
var shared = sync.OnceValues(func() (*PostgresServer, error) {
	return startServer(Options{Flags: []string{"max_connections=300"}})
})

// superuser is the DSN of the superuser of the server that Postgres makes databases on.
func superuser() (string, error) {
	if dsn := os.Getenv("BERTH_TEST_POSTGRES"); dsn != "" {
		return dsn, nil
	}
	s, err := shared()
	if err != nil {
		return "", err
	}
	return s.super.URL(s.Address(port)), nil
}

// Postgres is the DSN of a fresh and empty database whose owner is no superuser. It is dropped at the test's end, and
// whoever is still connected is thrown out. All of a test process's databases are on one server: that of
// BERTH_TEST_POSTGRES, a superuser's DSN, or a container.
func Postgres(tb testing.TB) string {
	tb.Helper()
	super, err := superuser()
	if err != nil {
		tb.Fatal(err)
	}
	config, err := pgx.ParseConfig(super)
	if err != nil {
		tb.Fatal("BERTH_TEST_POSTGRES is no DSN") // the error would show its password
	}
	return fresh(tb, super).URL(net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
}

// Shared is the test process's server in a container with a fresh database, for a test that does not disturb others on it.
func Shared(tb testing.TB) *PostgresServer {
	tb.Helper()
	s, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	own := *s
	container := *s.Container
	container.tb = tb
	own.Container, own.DB = &container, fresh(tb, s.super.URL(s.Address(port)))
	return &own
}

// fresh makes a database that goes with the test.
func fresh(tb testing.TB, super string) Database {
	tb.Helper()
	name := "berth_" + token(6)
	d := Database{Name: name, User: name, Password: token(12)}
	if err := asSuperuser(super, d.create()...); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := asSuperuser(super, d.drop()...); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// create copies template0, which nobody can be connected to.
func (d Database) create() []string {
	return []string{
		fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", d.User, d.Password),
		fmt.Sprintf("CREATE DATABASE %s OWNER %s TEMPLATE template0", d.Name, d.User),
	}
}

func (d Database) drop() []string {
	return []string{
		fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", d.Name),
		fmt.Sprintf("DROP ROLE IF EXISTS %s", d.User),
	}
}

func asSuperuser(dsn string, statements ...string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, text := range statements {
		if _, err := conn.Exec(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", strings.Fields(text)[0:2], err)
		}
	}
	return nil
}

// answers waits until a server can be connected to.
func answers(dsn string, bound time.Duration) error {
	deadline := time.Now().Add(bound)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		conn, err := pgx.Connect(ctx, dsn)
		if err == nil {
			err = conn.Close(ctx)
		}
		cancel()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
