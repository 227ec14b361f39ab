// Package sqliteengine is a node's disk: node.db, which says what is known of tenants, and for each tenant of which there
// is a copy a directory of its own with engine.db and its attachments.
//
//	DIR/node.db
//	DIR/tenants/ID/engine.db     the copy's stamp and fence, routes, messages, tombstones, what attachments there are
//	DIR/tenants/ID/attachments/  each by the SHA-256 of its content, whole
//	DIR/tenants/ID/uploads/      those that are not whole
//	DIR/tenants/.new-ID…         a copy while it is made
//	DIR/tenants/.gone-ID…        a copy while it is removed
//
// The truth of a copy is in its engine.db, where every write reads it in its own transaction (P3, P16). A directory is
// made and removed by renaming, so that there is a copy or there is none, whenever the process ends.
package sqliteengine
