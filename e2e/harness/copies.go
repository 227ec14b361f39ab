package harness

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Copy stops the replicas, copies their database, and starts them again. The function returned puts the copy in the place
// of what became of the database since, as a restored backup would be.
func (s *Stand) Copy() (restore func()) {
	s.tb.Helper()
	save, back := s.copyFile, s.restoreFile
	if s.Postgres != nil {
		save, back = s.copyDatabase, s.restoreDatabase
	}
	s.Stop()
	save()
	s.Run()
	return func() {
		s.tb.Helper()
		s.Stop()
		back()
		s.Run()
	}
}

func (s *Stand) copyFile() {
	s.tb.Helper()
	text, err := os.ReadFile(s.database())
	must(s.tb, err)
	must(s.tb, os.WriteFile(s.database()+".copy", text, 0o600))
}

func (s *Stand) restoreFile() {
	s.tb.Helper()
	for _, more := range []string{"-wal", "-shm"} {
		must(s.tb, os.RemoveAll(s.database()+more))
	}
	must(s.tb, os.Rename(s.database()+".copy", s.database()))
}

func (s *Stand) copyDatabase() {
	s.tb.Helper()
	name := s.Postgres.DB.Name
	s.asSuperuser(`CREATE DATABASE ` + name + `_copy OWNER ` + name + ` TEMPLATE ` + name)
	s.tb.Cleanup(func() { s.asSuperuser(`DROP DATABASE IF EXISTS ` + name + `_copy`) })
}

func (s *Stand) restoreDatabase() {
	s.tb.Helper()
	name := s.Postgres.DB.Name
	s.asSuperuser(`DROP DATABASE ` + name + ` WITH (FORCE)`)
	s.asSuperuser(`ALTER DATABASE ` + name + `_copy RENAME TO ` + name)
}

// asSuperuser runs one statement outside of the stand's database.
func (s *Stand) asSuperuser(statement string) {
	s.tb.Helper()
	s.Postgres.Exec("psql", "-U", "postgres", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-XAtqc", statement)
}

// Dump is everything that is in the database: of Postgres as text, bytes in hex, and of SQLite its files as they are.
func (s *Stand) Dump() string {
	s.tb.Helper()
	if s.Postgres != nil {
		return dump(s.Postgres)
	}
	var out strings.Builder
	files, err := filepath.Glob(s.database() + "*")
	must(s.tb, err)
	for _, path := range files {
		f, err := os.Open(path)
		must(s.tb, err)
		_, err = io.Copy(&out, f)
		must(s.tb, err)
		must(s.tb, f.Close())
	}
	return out.String()
}
