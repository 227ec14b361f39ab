// Package audit is Berth's record of who did what: entries in one append-only chain, each bound by SHA-256 to the one
// before it, and checkpoints of the chain's head that are signed elsewhere.
//
// A use case makes a Draft; the store seals it to the head in its own transaction. Whoever holds a later head, or a
// signed checkpoint, can tell whether anything before it was altered, removed, added or moved, and where that begins.
package audit
