package load

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"berth/e2e/lab"
)

// Database is a Postgres server of a measurement's own.
type Database struct {
	*lab.PostgresServer
	tb testing.TB
}

// NewDatabase starts a server that counts what it is asked. What else it is set to is given as name=value.
func NewDatabase(tb testing.TB, settings ...string) *Database {
	tb.Helper()
	d := &Database{tb: tb, PostgresServer: lab.Server(tb, lab.Options{Flags: append([]string{
		"shared_preload_libraries=pg_stat_statements", "pg_stat_statements.max=10000", "shared_buffers=256MB",
		"max_wal_size=2GB", "max_connections=200",
	}, settings...)})}
	d.SQL("CREATE EXTENSION pg_stat_statements")
	return d
}

// DSN is the database at the container's own address where that is reached, as it is on the machine that the containers
// run on: the proxy in front of a published port would take its share of every measurement.
func (d *Database) DSN() string {
	dsn := d.PostgresServer.DSN()
	ip, _, _ := strings.Cut(strings.TrimSpace(d.Exec("hostname", "-i")), " ")
	address := net.JoinHostPort(ip, "5432")
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return dsn
	}
	_ = c.Close()
	u, err := url.Parse(dsn)
	if err != nil {
		d.tb.Fatal("the database's address can not be read")
	}
	u.Host = address
	return u.String()
}

// Queries is how many statements the server was given so far, those of transactions among them.
func (d *Database) Queries() int64 {
	d.tb.Helper()
	n, err := strconv.ParseInt(d.SQL("SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements"), 10, 64)
	if err != nil {
		d.tb.Fatal(err)
	}
	return n
}

// CPU is the processor time of all of the server's processes so far, those that have ended among them: the first one
// has waited for them.
func (d *Database) CPU() time.Duration {
	d.tb.Helper()
	var ticks int64
	for line := range strings.SplitSeq(d.Exec("sh", "-c", "cat /proc/[0-9]*/stat 2>/dev/null || true"), "\n") {
		head, rest, _ := strings.Cut(line, ") ")
		pid, name, _ := strings.Cut(head, " (")
		if name != "postgres" {
			continue
		}
		ticks += sum(d.tb, strings.Fields(rest), pid == "1")
	}
	return time.Duration(ticks) * tick
}

const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go supports

// sum is user and system time of a process, and of its children that have ended, as proc(5) has them behind the name.
func sum(tb testing.TB, fields []string, children bool) (ticks int64) {
	tb.Helper()
	const own, ended = 11, 13
	upTo := ended
	if children {
		upTo += 2
	}
	if len(fields) < upTo {
		tb.Fatalf("this is no process: %v", fields)
	}
	for _, f := range fields[own:upTo] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		ticks += n
	}
	return ticks
}
