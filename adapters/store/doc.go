// Package store is what the SQL stores share: the rows behind the roles of ports/store and the queries over them, written
// with bun so that a dialect is all that differs; the group commit of heartbeats and the shared read of callers, whose
// statements are written out and prepared; and the judgement of a schema. An adapter brings the connections, the order of
// BEGIN and COMMIT, and the meaning of its database's error codes.
//
// Times are stored as microseconds since 1970, no time as NULL; statuses by name; counters as 64-bit integers.
package store
