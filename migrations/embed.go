// Package migrations holds the schema of each database as numbered steps: NNNN_name.sql, applied in order and each once.
// A step that was released is never changed; its checksum is kept beside it in schema_history.
package migrations

import "embed"

// SQLite is the schema on SQLite, under sqlite/.
//
//go:embed sqlite/*.sql
var SQLite embed.FS
