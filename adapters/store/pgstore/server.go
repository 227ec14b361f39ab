package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"berth/domain/fault"
	port "berth/ports/store"
)

// server is what a connection leads to.
type server struct {
	system   string // the cluster's identifier; empty where the role may not ask for it
	database string // the number of the database within it
	timeline uint64 // raised by each failover and each restore to a point in time; 0 where the role may not ask for it
	schema   string // the first of the role's search path
	process  string // when it was started: a copy of its files that was put back in their place has the timeline of before
}

// origin names the history of a server's rows.
func (s server) origin() string {
	return strings.Join([]string{s.system, strconv.FormatUint(s.timeline, 10), s.database, s.schema, s.process}, "/")
}

// watch remembers the newest server that was seen.
type watch struct {
	mu     sync.Mutex
	newest *server
}

// admit refuses a server that is not the one there is now.
func (w *watch) admit(s server) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.newest == nil, s == *w.newest:
	case s.system != w.newest.system:
		return away("this is another database cluster than before", "start this program anew, if the cluster was replaced")
	case s.timeline < w.newest.timeline:
		return away("this is a primary that another took over from", "take the old primary out of the addresses")
	}
	w.newest = &s
	return nil
}

// passed says whether a newer server than s was seen.
func (w *watch) passed(s server) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest != nil && s != *w.newest
}

func away(why, cure string) *fault.Error { return port.Away(errors.New(why)).Curable("%s", cure) }

var errPassed = errors.New("another server took over meanwhile")

// settings of every connection. What the store writes as text is read by these rules, a commit that is answered is on
// disk, the server's warnings of one are heard, and rows that a policy hides are an error and not left out, whatever the
// role's own settings are. What the role lets a statement take goes first, since it holds for the others here.
const settings = `SET statement_timeout = %d; SET lock_timeout = %d; SET idle_in_transaction_session_timeout = %d;
	SET idle_session_timeout = 0; SET client_min_messages = 'warning'; SET row_security = off;
	SET default_transaction_isolation = 'read committed';
	SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET bytea_output = 'hex'; ` + planning + `;
	SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`

// planning forbids what reads more than is asked for, as long as there is an index: a store only looks up, and what that
// costs shall hang neither on how much there is nor on what the server knows of it. It also keeps what a serializable
// transaction has read, and is held to, small.
const planning = "SET jit = off; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; " +
	"SET enable_bitmapscan = off"

const identity = `SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('server_encoding'),
	(SELECT oid FROM pg_database WHERE datname = current_database()),
	has_function_privilege('pg_control_system()', 'execute'),
	has_function_privilege('pg_current_wal_lsn()', 'execute') AND has_function_privilege('pg_walfile_name(pg_lsn)', 'execute'),
	current_schema(), extract(epoch FROM pg_postmaster_start_time())`

// serverKey is where a connection keeps its server.
const serverKey = "server"

// greet sets a new connection up and refuses a server that is not the primary. Where there are several hosts the next is
// tried then.
func (s *Store) greet(ctx context.Context, conn *pgconn.PgConn) error {
	milliseconds := func(d time.Duration) int64 { return max(d.Milliseconds(), 1) }
	o := s.options
	if _, err := conn.Exec(ctx, fmt.Sprintf(settings, milliseconds(o.StatementTimeout), milliseconds(o.LockTimeout),
		milliseconds(min(o.StatementTimeout, mostIdle)))).ReadAll(); err != nil {
		return err
	}
	at, err := row(ctx, conn, identity)
	if err != nil {
		return err
	}
	switch {
	case at[0] == "t", at[1] == "on":
		return away("this is a standby, or takes no writes", "name the primary, or every host there is")
	case at[2] != "UTF8" && at[2] != "SQL_ASCII": // which keeps bytes as they are
		return fault.New(fault.Conflict, "database_encoding_refused", "the database keeps text as %s", at[2]).
			Curable("make the database with the encoding UTF8")
	}
	is := server{database: at[3], schema: at[6], process: at[7]}
	if at[4] == "t" {
		id, err := row(ctx, conn, "SELECT system_identifier FROM pg_control_system()")
		if err != nil {
			return err
		}
		is.system = id[0]
	}
	if at[5] == "t" {
		// The first eight digits of the name of the file that is written to are the timeline's.
		file, err := row(ctx, conn, "SELECT pg_walfile_name(pg_current_wal_lsn())")
		if err != nil {
			return err
		}
		if is.timeline, err = strconv.ParseUint(file[0][:min(8, len(file[0]))], 16, 64); err != nil {
			return err
		}
	}
	conn.CustomData()[serverKey] = is
	return s.watch.admit(is)
}

// row asks for a single row, as text.
func row(ctx context.Context, conn *pgconn.PgConn, query string) ([]string, error) {
	results, err := conn.Exec(ctx, query).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return nil, fmt.Errorf("%s gave no single row", query)
	}
	out := make([]string, 0, len(results[0].Rows[0]))
	for _, v := range results[0].Rows[0] {
		out = append(out, string(v))
	}
	return out, nil
}
