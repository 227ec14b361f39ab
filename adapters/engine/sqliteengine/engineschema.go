package sqliteengine

// engineSchema makes engine.db. A message's number is its route's, then its sequence in the route: one tree, to whose
// end a route's messages are appended, and of which a range is a route's messages in order.
const engineSchema = `
CREATE TABLE copy (
	one           INTEGER PRIMARY KEY CHECK (one = 1),
	tenant        TEXT    NOT NULL,
	stamp         INTEGER NOT NULL,
	fenced        INTEGER NOT NULL CHECK (fenced IN (0, 1)),
	fence_version INTEGER NOT NULL,
	migration     TEXT    NOT NULL,
	sequence      INTEGER NOT NULL,
	messages      INTEGER NOT NULL DEFAULT 0,
	attachments   INTEGER NOT NULL DEFAULT 0,
	used          INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE routes (
	route INTEGER PRIMARY KEY,
	name  TEXT    NOT NULL UNIQUE,
	head  INTEGER NOT NULL
) STRICT;
CREATE TABLE principals (
	principal INTEGER PRIMARY KEY,
	name      TEXT    NOT NULL UNIQUE
) STRICT;
CREATE TABLE messages (
	number    INTEGER PRIMARY KEY,
	principal INTEGER NOT NULL,
	id        TEXT    NOT NULL,
	published INTEGER NOT NULL,
	body      BLOB    NOT NULL
) STRICT;
CREATE TABLE ids (
	route     INTEGER NOT NULL,
	principal INTEGER NOT NULL,
	id        TEXT    NOT NULL,
	sequence  INTEGER NOT NULL,
	PRIMARY KEY (route, principal, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE attachments (
	digest BLOB    PRIMARY KEY CHECK (length(digest) = 32),
	size   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tombstones (
	principal TEXT    PRIMARY KEY,
	revision  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
PRAGMA application_id = 0x42455245;
PRAGMA user_version = 1;
`

const (
	engineApplicationID = 0x42455245 // "BERE"
	engineVersion       = 1
)

// sequenceBits is how much of a message's number is its sequence: stream.MaxSequence fits.
const sequenceBits = 40

const insertCopy = `INSERT INTO copy (one, tenant, stamp, fenced, fence_version, migration, sequence) VALUES (1, ?, ?, ?, ?, ?, ?)`

const selectCopy = `SELECT tenant, stamp, fenced, fence_version, migration, sequence, messages, attachments, used FROM copy`

const selectUsage = `SELECT messages, attachments, used, sequence FROM copy`

const updateCopy = `UPDATE copy SET stamp = ?, fenced = ?, fence_version = ?, migration = ?, sequence = ?, messages = ?,
attachments = ?, used = ?`

const (
	selectRoute     = `SELECT route, head FROM routes WHERE name = ?`
	insertRoute     = `INSERT INTO routes (name, head) VALUES (?, 0) RETURNING route`
	updateRoute     = `UPDATE routes SET head = ? WHERE route = ?`
	selectPrincipal = `SELECT principal FROM principals WHERE name = ?`
	insertPrincipal = `INSERT INTO principals (name) VALUES (?) RETURNING principal`
	insertID        = `INSERT INTO ids (route, principal, id, sequence) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
	selectID        = `SELECT sequence FROM ids WHERE route = ? AND principal = ? AND id = ?`
	insertMessage   = `INSERT INTO messages (number, principal, id, published, body) VALUES (?, ?, ?, ?, ?)`
	selectMessage   = `SELECT published, body FROM messages WHERE number = ?`
	selectMessages  = `SELECT number, id, (SELECT name FROM principals p WHERE p.principal = m.principal), published, body
FROM messages m WHERE number > ? AND number <= ? ORDER BY number`
	selectAttachment  = `SELECT size FROM attachments WHERE digest = ?`
	selectAttachments = `SELECT digest FROM attachments`
	insertAttachment  = `INSERT INTO attachments (digest, size) VALUES (?, ?)`
	insertTombstone   = `INSERT INTO tombstones (principal, revision) VALUES (?, ?)
ON CONFLICT (principal) DO UPDATE SET revision = max(revision, excluded.revision)`
	selectHead       = `SELECT head FROM routes WHERE name = ?`
	selectTombstones = `SELECT principal, revision FROM tombstones ORDER BY principal`
)
