package pgstore_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"berth/adapters/store/pgstore"
	"berth/migrations"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// The store keeps every law of its port, beside a later program whose step added a column to every table. A database whose clock is off is none the worse for it: nothing that is sent to
// it on the way, and no step of its schema, asks it for the time.
func TestLaws(t *testing.T) {
	t.Parallel()
	p, dsn := between(t, database(t))
	c := &clockWatch{found: map[string]bool{}}
	p.watch(hooks{asked: c.see})
	t.Run("of the port", func(t *testing.T) {
		emptied := &shelf{dsn: dsn}
		storetest.Run(t, emptied.open)
	})
	c.see([]byte(sqlOf(t, migrations.Postgres, "postgres")))
	c.judge(t)
}

// shelf keeps schemas that were used and emptied, since to make one takes much longer.
type shelf struct {
	dsn  string
	mu   sync.Mutex
	free []string
}

func (s *shelf) open(tb testing.TB) store.Store {
	tb.Helper()
	dsn, made := s.take()
	if !made {
		dsn = schema(tb, s.dsn)
	}
	tb.Cleanup(func() {
		empty(tb, dsn)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, dsn)
	})
	earlier := open(tb, dsn)
	if made {
		return earlier
	}
	later := bare(tb, dsn, pgstore.Options{})
	pgstore.LaterSteps(later, 1, `DO $$ DECLARE t regclass; BEGIN
		FOR t IN SELECT c.oid FROM pg_class AS c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
			AND c.relname <> 'schema_history'
		LOOP EXECUTE 'ALTER TABLE ' || t || ' ADD COLUMN later TEXT NOT NULL DEFAULT 1'; END LOOP; END $$`)
	if _, err := later.Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return earlier
}

func (s *shelf) take() (dsn string, made bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return "", false
	}
	dsn, s.free = s.free[0], s.free[1:]
	return dsn, true
}

// empty deletes all records of a schema.
func empty(tb testing.TB, dsn string) {
	tb.Helper()
	db := raw(tb, dsn)
	defer db.Close()
	if _, err := db.Exec(`DO $$ DECLARE t regclass; BEGIN
		SET CONSTRAINTS ALL DEFERRED;
		FOR t IN SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
			WHERE n.nspname = current_schema() AND c.relkind = 'r' AND c.relname <> 'schema_history'
		LOOP EXECUTE 'DELETE FROM ' || t; END LOOP; END $$`); err != nil {
		tb.Error(err)
	}
}

// started names a process of the server, and is no time to the store: it is told apart from others, and never compared.
var started = []byte("pg_postmaster_start_time()")

// clocks are the ways to ask Postgres for the time.
var clocks = []string{
	"now(", "now (", "current_date", "current_time", "localtime", "clock_timestamp", "statement_timestamp",
	"transaction_timestamp", "timeofday", "start_time", "timestamptz", "'now'", "'today'",
}

// clockWatch looks for them in what passes.
type clockWatch struct {
	mu    sync.Mutex
	asked int
	found map[string]bool
}

func (c *clockWatch) see(chunk []byte) []byte {
	lower := bytes.ToLower(bytes.ReplaceAll(chunk, started, bytes.Repeat([]byte("*"), len(started))))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked += bytes.Count(chunk, []byte("SELECT"))
	for _, way := range clocks {
		if at := bytes.Index(lower, []byte(way)); at >= 0 {
			c.found[string(chunk[max(0, at-60):min(len(chunk), at+60)])] = true
		}
	}
	return chunk
}

func (c *clockWatch) judge(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked < 1000 {
		t.Errorf("only %d questions were seen", c.asked)
	}
	for text := range c.found {
		t.Errorf("the database is asked for the time: %q", strings.ToValidUTF8(text, "?"))
	}
	for _, text := range []string{"SELECT Now()", "DEFAULT CURRENT_TIMESTAMP"} {
		other := &clockWatch{found: map[string]bool{}}
		if other.see([]byte(text)); len(other.found) == 0 {
			t.Errorf("%q is not noticed", text)
		}
	}
}
