// Package pgstore is the storage port on Postgres 14 and later, by pgx under bun.
//
// # Isolation
//
// A write transaction is SERIALIZABLE and locks the table writers, shared. One that could not be brought into an order
// with others is repeated with that lock for itself alone, taken before its snapshot, so that it can not fail so again.
// A round of heartbeats has a lock of its own besides: the rounds of several replicas wait for one another and abort
// none. The writes of one process follow one another, unless one waits for somebody else. A view is REPEATABLE READ on
// the primary.
//
// # Waiting
//
// No caller's context is given to a statement: one who leaves costs no connection. What a statement may take is
// bounded by the server (statement_timeout, lock_timeout, idle_in_transaction_session_timeout), and by a deadline a
// little later on the client's side, for a server that hangs. The context is asked before each statement and before
// the commit.
//
// # The primary
//
// Every connection is to a primary that takes writes, of the one system and of the newest timeline that this store has
// seen: where a newer one appears, all older connections are closed, and what runs on them is not committed. The
// database's clock is asked for nothing.
//
// Where the role may not ask for the system's identifier, as with some hosted databases, the database's own number
// stands in for it; where it may not ask for the timeline, failovers to another timeline go unnoticed.
package pgstore
