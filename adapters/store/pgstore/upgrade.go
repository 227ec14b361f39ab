package pgstore

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"berth/adapters/store"
	"berth/domain/fault"
	port "berth/ports/store"
)

// owner is the comment on the table of the schema's history: what says whose the tables are.
const owner = "Berth"

const createHistory = `CREATE TABLE schema_history (
	version       BIGINT PRIMARY KEY NOT NULL,
	name          TEXT COLLATE "C" NOT NULL,
	checksum      TEXT COLLATE "C" NOT NULL, -- SHA-256 of its SQL in lower-case hex
	applied_at    BIGINT NOT NULL,
	readable_from BIGINT NOT NULL
);
COMMENT ON TABLE schema_history IS '` + owner + `'`

// A step of an upgrade may take its time, but does not wait long for those who use the tables.
const (
	beginStep = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
		SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`
	takeTurn = "SELECT pg_try_advisory_xact_lock(1114797160, hashtext(coalesce(current_schema(), '')))"

	longestStep = time.Hour
	betweenAsks = 20 * time.Millisecond
)

// Migrate brings the schema up to what this program knows, each step in a transaction of its own, and returns the steps
// that it took itself. Several may do so at once: a step that one began is waited for. A database that later programs
// upgraded, and that this one can still work on, is left as it is. Faults: Conflict schema_newer, schema_altered,
// schema_foreign; Unavailable, among them database_rights_missing.
func (s *Store) Migrate(ctx context.Context) ([]Migration, error) {
	return store.EachStep(ctx, func(ctx context.Context) ([]Migration, error) {
		for {
			turn, taken, err := s.step(ctx)
			if err != nil || turn {
				return taken, err
			}
			select {
			case <-ctx.Done():
				return nil, port.Ended(context.Cause(ctx))
			case <-time.After(betweenAsks):
			}
		}
	})
}

// step takes the first pending step, if there is one and it is this program's turn.
func (s *Store) step(ctx context.Context) (turn bool, taken []Migration, err error) {
	err = s.borrow(ctx, func(on *session) error {
		if _, err := on.control(beginStep); err != nil {
			return classify(err)
		}
		on.limit()
		at, err := row(context.WithoutCancel(ctx), on.raw, takeTurn)
		if turn = err == nil && at[0] == "t"; !turn {
			return classify(err)
		}
		on.patience = longestStep
		taken, err = s.apply(ctx, on)
		return err
	})
	return turn, taken, err
}

// apply takes the first pending step, if there is one, in the transaction that was begun.
func (s *Store) apply(ctx context.Context, on *session) (taken []Migration, err error) {
	applied, err := history(ctx, on)
	if err != nil {
		return nil, err
	}
	pending, err := store.Pending(s.schema, applied)
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	statements := []string{pending[0].SQL, store.Record(s.bun, pending[0], time.Now())}
	if len(applied) == 0 {
		statements = append([]string{createHistory}, statements...)
	}
	for _, text := range statements {
		if _, err := on.control(text); err != nil {
			return nil, classify(err)
		}
	}
	if err := on.commit(); err != nil {
		return nil, err
	}
	return pending[:1], nil
}

// borrow runs fn on a connection, whatever the schema is.
func (s *Store) borrow(ctx context.Context, fn func(*session) error) error {
	if err := ctx.Err(); err != nil {
		return port.Ended(err)
	}
	for {
		on, err := s.writers.Take(ctx)
		if err != nil {
			return err
		}
		died, err := s.lend(on, fn)
		if !died || hung(err) {
			return err
		}
	}
}

// lend runs fn on a connection and gives it back; died says that it had died before fn could do anything.
func (s *Store) lend(on *session, fn func(*session) error) (died bool, err error) {
	defer s.writers.Give(on)
	defer func() { on.patience = 0 }()
	defer on.rollback()
	if on.used {
		if _, err := on.control("SELECT 1"); err != nil {
			return on.raw.IsClosed(), classify(err)
		}
	}
	return false, fn(on)
}

// Status returns every step that this program or the database knows, by version.
func (s *Store) Status(ctx context.Context) (out []Migration, err error) {
	err = s.borrow(ctx, func(on *session) error {
		applied, err := history(ctx, on)
		out = store.Steps(s.schema, applied)
		return err
	})
	return out, err
}

// Ping is as the port has it. It says besides which rights the role lacks. Once it found a schema that this program can
// not work on, nothing is done on connections that were made before, either.
func (s *Store) Ping(ctx context.Context) error {
	err := s.borrow(ctx, func(on *session) error {
		if err := s.judge(ctx, on); err != nil {
			s.doubts.Add(1)
			return err
		}
		return s.rights(ctx, on)
	})
	if f, ok := fault.As(err); ok && f.Slug == "store_busy" {
		return port.Away(err)
	}
	return err
}

// judge refuses a database whose schema this program can not work on.
func (s *Store) judge(ctx context.Context, on *session) error {
	applied, err := history(ctx, on)
	if err != nil {
		return err
	}
	pending, err := store.Pending(s.schema, applied)
	if err != nil {
		return err
	}
	return store.Outdated(pending)
}

// things are the relations of the schema that no extension brought along.
const things = `FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND NOT EXISTS (
		SELECT 1 FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`

const whose = `SELECT current_schema(), count(*),
	max(obj_description(c.oid, 'pg_class')) FILTER (WHERE c.relname = 'schema_history') ` + things

// history reads the steps that were applied. Fault: Conflict schema_foreign when there is anything that is not Berth's.
func history(ctx context.Context, on *session) ([]store.Migration, error) {
	on.limit()
	at, err := row(context.WithoutCancel(ctx), on.raw, whose)
	if err != nil {
		return nil, classify(err)
	}
	on.used = true
	switch schema, count, comment := at[0], at[1], at[2]; {
	case schema == "":
		return nil, port.NoRights(nil).Curable("grant USAGE on a schema of the role's search path, or create one")
	case comment == owner:
		applied, err := store.Applied(ctx, on)
		return applied, classify(err)
	case count != "0":
		return nil, store.Foreign()
	}
	return nil, nil
}

// lacking are the rights that the role needs on tables and does not have. What was written into the audit log is never
// changed.
const lacking = `SELECT coalesce(string_agg(needed || ' on ' || c.relname, ', ' ORDER BY c.relname, needed), ''),
	current_user, current_schema()
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
	CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
	WHERE n.nspname = current_schema() AND c.relkind = 'r' AND c.relname IN ('schema_history', '%s')
	AND NOT (c.relname = 'audit_log' AND needed IN ('UPDATE', 'DELETE'))
	AND NOT (c.relname = 'schema_history' AND needed <> 'SELECT')
	AND NOT has_table_privilege(c.oid, needed)`

var madeTable = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// tables are those that this program knows: a later one may have added some that it needs no rights on.
func (s *Store) tables() (names []string) {
	for _, m := range s.schema {
		for _, made := range madeTable.FindAllStringSubmatch(m.SQL, -1) {
			names = append(names, made[1])
		}
	}
	return names
}

// rights refuses a role that could not do what a request may ask for.
func (s *Store) rights(ctx context.Context, on *session) error {
	on.limit()
	query := fmt.Sprintf(lacking, strings.Join(s.tables(), "', '"))
	at, err := row(context.WithoutCancel(ctx), on.raw, query)
	if err != nil {
		return classify(err)
	}
	if at[0] == "" {
		return nil
	}
	f := port.NoRights(nil)
	f.Detail = "the role " + at[1] + " lacks " + shorten(at[0])
	return f.Curable("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s", quote(at[2]), quote(at[1]))
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// shorten keeps the first few of a list.
func shorten(list string) string {
	const most = 8
	parts := strings.Split(list, ", ")
	if len(parts) <= most {
		return list
	}
	return strings.Join(parts[:most], ", ") + " and more"
}
