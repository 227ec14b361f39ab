package lab

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Options are what a server of a test's own differs in.
type Options struct {
	Flags       []string // settings, name=value
	DataSize    string   // its data directory, but not its write-ahead log, is in memory and has so much room, such as 96m
	ClockOffset string   // its clock is off by so much, such as +1h or -90m
}

// PostgresServer is a Postgres server in a container. It has one database, whose owner is no superuser.
type PostgresServer struct {
	*Container
	DB Database

	options Options
	super   Database
}

const port = 5432

// Server starts a server for one test, which goes with it.
func Server(tb testing.TB, o Options) *PostgresServer {
	tb.Helper()
	s, err := startServer(o)
	if err != nil {
		tb.Fatal(err)
	}
	s.tb = tb
	tb.Cleanup(s.remove)
	if err := asSuperuser(s.super.URL(s.Address(port)), s.DB.create()...); err != nil {
		tb.Fatal(err)
	}
	return s
}

func startServer(o Options) (*PostgresServer, error) {
	super := Database{Name: "postgres", User: "postgres", Password: token(12)}
	s := &PostgresServer{DB: Database{"berth", "berth", token(12)}, options: o, super: super}
	return s, s.launch(map[string]string{"POSTGRES_PASSWORD": super.Password}, nil)
}

// launch starts the container and waits until the server answers. A server that is made from nothing first answers on a
// Unix socket only, so that a TCP connection finds the one that stays.
func (s *PostgresServer) launch(env map[string]string, prepare []string) (err error) {
	spec := Spec{Env: env, Ports: []int{port}, Command: append([]string{"postgres"}, s.options.flags()...)}
	if spec.Image, err = s.options.image(); err != nil {
		return err
	}
	if s.options.DataSize != "" {
		env["POSTGRES_INITDB_WALDIR"], env["PGDATA"] = "/var/lib/postgresql/wal", dataInMemory
		spec.Tmpfs = map[string]string{dataInMemory: "size=" + s.options.DataSize}
	}
	if s.options.ClockOffset != "" {
		env["FAKETIME"], env["FAKETIME_DONT_FAKE_MONOTONIC"] = s.options.ClockOffset, "1"
		spec.User = "postgres" // libfaketime cannot share with the server what it made as root
		prepare = append(prepare, "export LD_PRELOAD=$(ls /usr/lib/*/faketime/libfaketime.so.1 /usr/lib/faketime/libfaketime.so.1 2>/dev/null | head -n 1)")
	}
	if len(prepare) > 0 {
		spec.Entrypoint = []string{"sh", "-c", "set -e\n" + strings.Join(prepare, "\n") + "\n" + `exec docker-entrypoint.sh "$@"`, "sh"}
	}
	if s.Container, err = launch(spec); err != nil {
		return err
	}
	if err := answers(s.super.URL(s.Address(port)), time.Minute); err != nil {
		said, _ := s.logs()
		return fmt.Errorf("the server does not answer: %w; it said:\n%s", err, said)
	}
	return nil
}

const dataInMemory = "/var/lib/postgresql/memory"

func (o Options) image() (string, error) {
	if o.ClockOffset != "" {
		return script("postgres", "--faketime")
	}
	return script("postgres")
}

// flags keep a server small; it is durable unless a test says otherwise.
func (o Options) flags() []string {
	var out []string
	for _, setting := range append([]string{
		"shared_buffers=64MB", "max_connections=100", "max_wal_size=256MB", "min_wal_size=64MB", "wal_level=replica", "jit=off",
		"log_min_duration_statement=-1", "log_checkpoints=off",
	}, o.Flags...) {
		out = append(out, "-c", setting)
	}
	return out
}

// DSN is the database as the test reaches it.
func (s *PostgresServer) DSN() string { return s.DB.URL(s.Address(port)) }

// Inside is the server's address for other containers of this process.
func (s *PostgresServer) Inside() string { return s.Name + ":" + strconv.Itoa(port) }

// InsideDSN is the database for other containers of this process, on this server or the others that have a copy.
func (s *PostgresServer) InsideDSN(others ...*PostgresServer) string {
	addresses := []string{s.Inside()}
	for _, o := range others {
		addresses = append(addresses, o.Inside())
	}
	return s.DB.URL(addresses...)
}

// Start starts the server again and waits until it answers.
func (s *PostgresServer) Start() {
	s.tb.Helper()
	s.Container.Start()
	s.Answers()
}

// Answers waits until the server can be connected to.
func (s *PostgresServer) Answers() {
	s.tb.Helper()
	if err := answers(s.super.URL(s.Address(port)), time.Minute); err != nil {
		s.tb.Fatalf("the server does not answer: %v\n%s", err, s.Logs())
	}
}

// SQL runs statements in the database as its superuser, over no network, and returns the rows that they give, columns
// apart by |.
func (s *PostgresServer) SQL(text string) string {
	s.tb.Helper()
	return s.Exec("psql", "-U", s.super.User, "-d", s.DB.Name, "-XAtqc", text)
}

// Suspend stops the server's processes one by one, as SIGSTOP does; connections stay open and nothing answers.
func (s *PostgresServer) Suspend() {
	s.tb.Helper()
	s.Signal("STOP") // no signal from inside stops a container's first process
	s.Exec("sh", "-c", fmt.Sprintf(each, "STOP"))
}

// Resume lets them go on.
func (s *PostgresServer) Resume() {
	s.tb.Helper()
	s.Exec("sh", "-c", fmt.Sprintf(each, "CONT"))
	s.Signal("CONT")
}

// each sends a signal to every process of a server but the first.
const each = `for p in /proc/[0-9]*; do
  read -r name <$p/comm || continue
  [ "$name" != postgres ] || [ "$p" = /proc/1 ] || kill -%s "${p#/proc/}"
done`

// Fill leaves no room in the data directory.
func (s *PostgresServer) Fill() {
	s.tb.Helper()
	s.Exec("sh", "-c", `dd if=/dev/zero of="$PGDATA/ballast" bs=64k 2>/dev/null || true`)
}

// Free makes room again.
func (s *PostgresServer) Free() {
	s.tb.Helper()
	s.Exec("sh", "-c", `rm -f "$PGDATA/ballast"`)
}
