package lab

import (
	"testing"
	"time"
)

// Standby starts a copy of the server that follows it by streaming replication, which is not waited for.
func (s *PostgresServer) Standby(tb testing.TB) *PostgresServer {
	tb.Helper()
	s.Exec("sh", "-c", `echo 'host replication all all scram-sha-256' >>"$PGDATA/pg_hba.conf"`)
	s.SQL("SELECT pg_reload_conf()")
	copied := &PostgresServer{DB: s.DB, options: s.options, super: s.super}
	env := map[string]string{
		"PRIMARY": s.super.URL(s.Inside()), "POSTGRES_PASSWORD": s.super.Password,
	}
	if err := copied.launch(env, []string{baseBackup}); err != nil {
		tb.Fatal(err)
	}
	copied.tb = tb
	tb.Cleanup(copied.remove)
	return copied
}

// baseBackup copies the primary's data directory, unless that was done before.
const baseBackup = `if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  pg_basebackup -d "$PRIMARY" -D "$PGDATA" -R -X stream -c fast
  chown -R postgres "$PGDATA"
  chmod 700 "$PGDATA"
fi`

// Promote makes a standby a primary, on a timeline of its own, and waits until it is one.
func (s *PostgresServer) Promote() {
	s.tb.Helper()
	if s.SQL("SELECT pg_promote(true, 60)") != "t" {
		s.tb.Fatal("the standby was not promoted")
	}
}

// PauseReplay lets a standby receive what the primary writes and show none of it, and waits until that is so.
func (s *PostgresServer) PauseReplay() {
	s.tb.Helper()
	s.SQL("SELECT pg_wal_replay_pause()")
	Within(s.tb, 30*time.Second, "replay is paused", func() bool {
		return s.SQL("SELECT pg_get_wal_replay_pause_state()") == "paused"
	})
}

// ResumeReplay ends that.
func (s *PostgresServer) ResumeReplay() { s.tb.Helper(); s.SQL("SELECT pg_wal_replay_resume()") }

// CaughtUp waits until a standby shows all that the primary has written so far.
func (s *PostgresServer) CaughtUp(primary *PostgresServer) {
	s.tb.Helper()
	at := primary.SQL("SELECT pg_current_wal_lsn()")
	Within(s.tb, 30*time.Second, "the standby has caught up", func() bool {
		return s.SQL("SELECT pg_last_wal_replay_lsn() >= '"+at+"'::pg_lsn") == "t"
	})
}
