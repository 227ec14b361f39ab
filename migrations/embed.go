// Package migrations holds the schema of each database as numbered steps: NNNN_name.sql, applied in order and each once.
// A step that was released is never changed; its checksum is kept beside it in schema_history.
//
// A step says in its first line from which version on programs can work on the database after it: an expanding step an
// earlier one, so that programs of both versions run side by side; a contracting step the version that no longer uses
// what it takes away.
package migrations

import "embed"

// SQLite is the schema on SQLite, under sqlite/.
//
//go:embed sqlite/*.sql
var SQLite embed.FS

// Postgres is the schema on Postgres, under postgres/: the same tables, and such as are only locked.
//
//go:embed postgres/*.sql
var Postgres embed.FS
