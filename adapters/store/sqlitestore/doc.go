// Package sqlitestore is the storage port on SQLite, free of cgo: one file in WAL mode, synced at every commit, with one
// connection that writes and several that read.
//
// Statements run to their end once they began: a context is watched while a call waits for its turn or for another
// process's lock, and asked before each statement and before the commit. So a context never leaves a commit in doubt.
package sqlitestore
