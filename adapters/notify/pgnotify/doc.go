// Package pgnotify carries change hints between replicas that share a Postgres database, by LISTEN and NOTIFY.
//
// A Relay stands between the process's own hub and the channel berth_hints. What is published here wakes those who wait
// here at once, and is queued for the other replicas; what the others send wakes those who wait here.
//
// # Order
//
// A hint is published after the commit of its change was answered, so it is sent after that commit, and whoever it
// wakes, on whichever replica, begins to read after it too. Every read is of the primary (A2), so it sees the change. It
// would not if the hint went with another connection's unfinished transaction, or if a read could go to a standby.
//
// # Never within a business transaction
//
// A transaction that notifies takes a lock over the whole database cluster just before it commits and holds it until it
// has committed, so that the queue of notifications is in the order of commits: with NOTIFY in them, the commits of all
// databases of the server would wait for one another, each for the other's flush to disk (BenchmarkCommits measures it).
// So the relay notifies by itself, on a connection of its own, many topics at a time, with synchronous_commit off, which
// leaves nothing to wait for while the lock is held.
//
// # What is lost
//
// Hints may be lost, and correctness does not depend on them (A4). All the same few are: what was queued while the
// server was away is sent when it is back; a queue that ran over becomes one hint for everybody; and after each
// connection of the listener everybody here is woken once, since nobody can say what was sent in the gap. All of these
// wakes are spread over a second, and at most one begins in any second, whatever comes over the channel: the worst that
// the channel's users can do is to make waiters read once a second.
//
// The channel belongs to the database: installations in different schemas of one database wake one another without cause,
// which is harmless; different databases of one server do not hear one another. Both connections must reach the server
// itself or a pooler in session mode: LISTEN does not survive a pooler in transaction mode. The relay finds out, since its
// own echo does not come back.
package pgnotify
