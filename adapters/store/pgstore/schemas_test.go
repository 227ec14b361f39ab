package pgstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"berth/adapters/store"
	"berth/migrations"
)

// onlyLocked are the tables that hold nothing: SQLite has one writer and needs none to lock.
var onlyLocked = []string{"writers", "beat_rounds"}

// Both dialects have the same tables, columns, keys, indexes and references, so that what is proved on one holds on the
// other.
func TestSchemasAreEqual(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	change(t, dsn, sqlOf(t, migrations.Postgres, "postgres"))
	postgres := describe(t, raw(t, dsn), inPostgres)
	lite, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer lite.Close()
	if _, err := lite.ExecContext(t.Context(), sqlOf(t, migrations.SQLite, "sqlite")); err != nil {
		t.Fatal(err)
	}
	sqlite := describe(t, lite, inSQLite)
	if len(sqlite) < 200 {
		t.Fatalf("only %d things were found", len(sqlite))
	}
	for _, thing := range difference(sqlite, postgres) {
		t.Errorf("only SQLite has %s", thing)
	}
	for _, thing := range difference(postgres, sqlite) {
		t.Errorf("only Postgres has %s", thing)
	}
}

func sqlOf(t *testing.T, files fs.FS, folder string) string {
	t.Helper()
	steps, err := store.Migrations(files, folder)
	var all []string
	for _, m := range steps {
		all = append(all, m.SQL)
	}
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	return strings.Join(all, ";\n")
}

func difference(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(thing string) bool { return slices.Contains(b, thing) })
}

// describe asks a catalog by queries that give what kind of thing, its table and its particulars.
func describe(t *testing.T, db *sql.DB, queries []string) (things []string) {
	t.Helper()
	for _, query := range queries {
		rows, err := db.QueryContext(context.Background(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer rows.Close()
		for rows.Next() {
			var kind, table, rest string
			if err := rows.Scan(&kind, &table, &rest); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(onlyLocked, table) {
				things = append(things, fmt.Sprintf("%s %s: %s", kind, table, predicate(rest)))
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return things
}

var (
	cast   = regexp.MustCompile(`::text|[()]`)
	spaces = regexp.MustCompile(`\s+`)
	anyOf  = regexp.MustCompile(`= ANY ARRAY\[(.*)\]`)
)

// predicate writes an index's condition in one form.
func predicate(text string) string {
	text = spaces.ReplaceAllString(cast.ReplaceAllString(text, ""), " ")
	return strings.TrimSpace(anyOf.ReplaceAllString(text, "IN $1"))
}

// booleans are the columns that SQLite, which has no such type, keeps as numbers.
const booleans = `'schedulable', 'lapsed', 'recovery', 'ended', 'source_prepared', 'target_prepared', 'done', 'schema_gate',
	'plain_http', 'config_maps', 'gate_open', 'frozen', 'installed'`

var inSQLite = []string{
	`SELECT 'column', t.name, c.name || ' ' ||
		CASE WHEN c.type = 'INTEGER' AND c.name IN (` + booleans + `) THEN 'BOOLEAN' ELSE c.type END ||
		CASE WHEN c."notnull" THEN ' NOT NULL' ELSE '' END || CASE WHEN c.dflt_value IS NOT NULL THEN ' with a default' ELSE '' END
		FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
	`SELECT 'key', t.name, (SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info(t.name) WHERE pk > 0 ORDER BY pk))
		FROM pragma_table_list AS t WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
	`SELECT 'index', m.tbl_name, m.name || CASE WHEN m.sql LIKE 'CREATE UNIQUE%' THEN ' unique' ELSE '' END || ' on ' ||
		(SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(m.name) ORDER BY seqno)) ||
		CASE WHEN instr(m.sql, 'WHERE') > 0 THEN ' where ' || substr(m.sql, instr(m.sql, 'WHERE') + 6) ELSE '' END
		FROM sqlite_schema AS m WHERE m.type = 'index' AND m.sql IS NOT NULL`,
	`SELECT 'reference', m.name, f."from" || ' to ' || f."table" || '.' || f."to" ||
		CASE WHEN m.sql LIKE '%DEFERRABLE INITIALLY DEFERRED%' THEN ' deferred' ELSE '' END
		FROM sqlite_schema AS m JOIN pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table'`,
}

const ours = ` JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = current_schema() `

var inPostgres = []string{
	`SELECT 'column', c.relname, a.attname || ' ' ||
		CASE a.atttypid WHEN 'bigint'::regtype THEN 'INTEGER' WHEN 'boolean'::regtype THEN 'BOOLEAN' WHEN 'bytea'::regtype THEN 'BLOB'
			WHEN 'text'::regtype THEN CASE WHEN a.attcollation = '"C"'::regcollation THEN 'TEXT' ELSE 'TEXT not by bytes' END
			ELSE format_type(a.atttypid, a.atttypmod) END ||
		CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END || CASE WHEN a.atthasdef THEN ' with a default' ELSE '' END
		FROM pg_class AS c` + ours + `JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relkind = 'r'`,
	`SELECT 'key', c.relname, (SELECT string_agg(pg_get_indexdef(i.indexrelid, at, true), ',' ORDER BY at)
			FROM generate_series(1, i.indnkeyatts) AS at)
		FROM pg_class AS c` + ours + `JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary`,
	`SELECT 'index', c.relname, x.relname || CASE WHEN i.indisunique THEN ' unique' ELSE '' END || ' on ' || (SELECT string_agg(pg_get_indexdef(i.indexrelid, at, true), ',' ORDER BY at)
			FROM generate_series(1, i.indnkeyatts) AS at) || coalesce(' where ' || pg_get_expr(i.indpred, i.indrelid, true), '')
		FROM pg_class AS c` + ours + `JOIN pg_index AS i ON i.indrelid = c.oid AND NOT i.indisprimary
		JOIN pg_class AS x ON x.oid = i.indexrelid`,
	`SELECT 'reference', c.relname, a.attname || ' to ' || r.relname || '.' || b.attname ||
		CASE WHEN k.condeferrable AND k.condeferred THEN ' deferred' ELSE '' END
		FROM pg_class AS c` + ours + `JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.contype = 'f'
		JOIN pg_class AS r ON r.oid = k.confrelid
		JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
		JOIN pg_attribute AS b ON b.attrelid = r.oid AND b.attnum = k.confkey[1]`,
}
