package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"berth/domain/fault"
)

// Migration is one step of a schema.
type Migration struct {
	Version   int
	Name      string
	Checksum  string    // SHA-256 of its SQL in lower-case hex
	AppliedAt time.Time // zero while it is pending
	SQL       string    // empty where it is told of by a database
	// ReadableFrom is how many steps a program knows at least that can work on the database after this one: fewer than
	// Version where the step expands the schema, as many where it takes away what earlier programs use.
	ReadableFrom int
}

// Migrations reads the steps in a folder, which must be numbered from 1 without gaps and say in their first line from
// which version on they are readable.
func Migrations(files fs.FS, folder string) ([]Migration, error) {
	names, err := fs.Glob(files, path.Join(folder, "*.sql"))
	if err != nil {
		return nil, err
	}
	out := make([]Migration, 0, len(names))
	for i, name := range names {
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		number, rest, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 || rest == "" {
			return nil, fmt.Errorf("%s is not step %d of the schema", name, i+1)
		}
		from, err := readableFrom(string(body))
		if err != nil || from < 1 || from > version {
			return nil, fmt.Errorf("%s does not begin with %q and a version from 1 to its own", name, readable)
		}
		sum := sha256.Sum256(body)
		out = append(out, Migration{
			Version: version, Name: rest, Checksum: hex.EncodeToString(sum[:]), SQL: string(body), ReadableFrom: from,
		})
	}
	return out, nil
}

const readable = "-- readable from version "

func readableFrom(sql string) (int, error) {
	line, _, _ := strings.Cut(sql, "\n")
	version, found := strings.CutPrefix(line, readable)
	if !found {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(version)
}

// Pending returns the steps of known that a database with these applied steps lacks: none where it has more than are
// known, all of which leave it readable. Faults: Conflict schema_newer, schema_altered.
func Pending(known, applied []Migration) ([]Migration, error) {
	for i, a := range applied {
		switch {
		case a.Version > len(known) && a.ReadableFrom > len(known):
			return nil, fault.New(fault.Conflict, "schema_newer",
				"the database has schema version %d (%s), which needs a program that knows version %d; this one knows up to %d",
				a.Version, a.Name, a.ReadableFrom, len(known)).
				Curable("run a program at least as new as the one that upgraded the database")
		case a.Version != i+1, i < len(known) && (a.Name != known[i].Name || a.Checksum != known[i].Checksum):
			return nil, fault.New(fault.Conflict, "schema_altered",
				"schema version %d (%s) was applied to the database in another form", a.Version, a.Name).
				Curable("restore the database from a backup, or run the program that made it")
		}
	}
	return known[min(len(applied), len(known)):], nil
}

// Outdated refuses a database that lacks steps.
func Outdated(pending []Migration) error {
	if len(pending) == 0 {
		return nil
	}
	return fault.New(fault.Unavailable, "schema_outdated", "the database lacks schema version %d (%s)",
		pending[0].Version, pending[0].Name).Curable("upgrade the schema")
}

// Foreign refuses a database of another product.
func Foreign() error {
	return fault.New(fault.Conflict, "schema_foreign", "the database belongs to another product").
		Curable("name a database of this product, or an empty one")
}
