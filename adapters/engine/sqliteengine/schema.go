package sqliteengine

// schemaVersion is the one of node.db that this program reads and writes; it takes one of firstVersion to it.
const (
	firstVersion  = 1
	schemaVersion = 2
)

// schema makes node.db. What it says of a copy mirrors the copy's own row where there is one.
const schema = `
CREATE TABLE node (
	one        INTEGER PRIMARY KEY CHECK (one = 1),
	storage_id TEXT    NOT NULL,
	place      TEXT    NOT NULL DEFAULT '',
	generation INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE tenants (
	tenant        TEXT    PRIMARY KEY,
	generation    INTEGER NOT NULL,
	version       INTEGER NOT NULL,
	present       INTEGER NOT NULL CHECK (present IN (0, 1)),
	stamp         INTEGER NOT NULL,
	fenced        INTEGER NOT NULL CHECK (fenced IN (0, 1)),
	fence_version INTEGER NOT NULL,
	migration     TEXT    NOT NULL,
	sequence      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
PRAGMA application_id = 0x42455254;
PRAGMA user_version = 2;
`

const applicationID = 0x42455254 // "BERT"

const columns = `tenant, generation, version, present, stamp, fenced, fence_version, migration, sequence`

const selectAll = `SELECT ` + columns + ` FROM tenants ORDER BY tenant`

const selectOne = `SELECT ` + columns + ` FROM tenants WHERE tenant = ?`

const mirror = `UPDATE tenants SET present = ?, stamp = ?, fenced = ?, fence_version = ?, migration = ?, sequence = ?
WHERE tenant = ? RETURNING ` + columns

const raise = `INSERT INTO tenants (` + columns + `) VALUES (?, ?, ?, 0, 0, 0, 0, '', 0)
ON CONFLICT (tenant) DO UPDATE SET generation = excluded.generation, version = excluded.version
WHERE (excluded.generation, excluded.version) > (tenants.generation, tenants.version)`
