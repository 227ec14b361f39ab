package lab_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"berth/e2e/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// query connects to a database and asks for one text; the error is Postgres'.
func query(dsn, text string) (out string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.Background())
	err = conn.QueryRow(ctx, text).Scan(&out)
	return out, err
}

func ask(t *testing.T, dsn, text string) string {
	t.Helper()
	out, err := query(dsn, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// A database is fresh, its owner is no superuser, and it is gone after the test whoever is connected.
func TestDatabase(t *testing.T) {
	t.Parallel()
	var dsn string
	t.Run("in a test", func(t *testing.T) {
		dsn = lab.Postgres(t)
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		if s := ask(t, dsn, "SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user"); s != "false" {
			t.Fatalf("its owner is a superuser: %s", s)
		}
		if _, err := conn.Exec(t.Context(), "CREATE TABLE t (x int)"); err != nil {
			t.Fatal(err)
		}
		if other := lab.Postgres(t); ask(t, other, "SELECT count(*)::text FROM pg_tables WHERE tablename = 't'") != "0" {
			t.Fatal("another database has the same table")
		}
	})
	if _, err := query(dsn, "SELECT 'x'"); err == nil {
		t.Fatal("the database outlived the test")
	}
}

// A server keeps its address and its data over a stop and a kill, and does nothing while it is frozen.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := lab.Server(t, lab.Options{})
	s.SQL("CREATE TABLE kept (x int)")
	for name, fault := range map[string]struct{ begin, end func() }{
		"stopped": {s.Stop, s.Start}, "killed": {s.Kill, s.Start},
		"paused": {s.Pause, s.Unpause}, "suspended": {s.Suspend, s.Resume},
	} {
		fault.begin()
		if out, err := query(s.DSN(), "SELECT 'x'"); err == nil {
			t.Errorf("while it is %s it answers %s", name, out)
		}
		fault.end()
		s.Answers()
		if n := s.SQL("SELECT count(*) FROM kept"); n != "0" {
			t.Errorf("after it was %s: %s", name, n)
		}
	}
}

// A full server refuses what needs room and answers what does not, and takes writes again when there is room.
func TestFull(t *testing.T) {
	t.Parallel()
	s := lab.Server(t, lab.Options{DataSize: "96m"})
	s.SQL("CREATE TABLE big (x text)")
	const grow = "INSERT INTO big SELECT repeat(md5(n::text), 100) FROM generate_series(1, 2000) n"
	s.SQL(grow)
	s.Fill()
	refused := "DO $$ BEGIN " + grow + "; RAISE NOTICE 'it had room'; EXCEPTION WHEN disk_full THEN NULL; END $$"
	s.SQL("SET client_min_messages = error; " + refused)
	if out := s.SQL("SELECT count(*) FROM big"); out != "2000" {
		t.Errorf("it shows %s", out)
	}
	s.Free()
	s.SQL(grow)
}

// A standby follows, lags when it is told to, and takes over on a timeline of its own.
func TestStandby(t *testing.T) {
	t.Parallel()
	s := lab.Server(t, lab.Options{})
	s.SQL("CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
	standby := s.Standby(t)
	standby.CaughtUp(s)
	standby.PauseReplay()
	s.SQL("INSERT INTO t VALUES (2)")
	if out := standby.SQL("SELECT count(*) FROM t"); out != "1" {
		t.Fatalf("it shows %s while replay is paused", out)
	}
	standby.ResumeReplay()
	standby.CaughtUp(s)
	s.Kill()
	standby.Promote()
	if out := standby.SQL("INSERT INTO t VALUES (3); SELECT count(*) FROM t"); out != "3" {
		t.Fatalf("as a primary it shows %s", out)
	}
	if ask(t, standby.DSN(), "SELECT timeline_id::text FROM pg_control_checkpoint()") == "" {
		t.Fatal("the test cannot reach it")
	}
}

// A server's clock can be an hour off.
func TestClock(t *testing.T) {
	t.Parallel()
	s := lab.Server(t, lab.Options{ClockOffset: "+1h"})
	at, err := time.Parse("2006-01-02 15:04:05", s.SQL("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')"))
	if err != nil {
		t.Fatal(err)
	}
	if off := time.Until(at); off < 59*time.Minute || off > 61*time.Minute {
		t.Fatalf("its clock is off by %s", off)
	}
}

// Containers go with the process that started them, also when it is killed.
func TestNothingOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	const child = "BERTH_LAB_CHILD"
	if os.Getenv(child) != "" {
		fmt.Println("container", lab.Server(t, lab.Options{}).ID)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=yes")
	out, err := cmd.Output()
	_, id, found := strings.Cut(strings.TrimSpace(string(out)), "container ")
	if err == nil || !found {
		t.Fatalf("the process ended with %v and said %s", err, out)
	}
	lab.Within(t, 30*time.Second, "its container is gone", func() bool {
		return exec.Command("docker", "inspect", id).Run() != nil
	})
}
