package sqlitestore

import (
	"strconv"
	"testing"
)

// LimitPages lets the file grow to so many pages and not further; one below its size is its size.
func LimitPages(tb testing.TB, s *Store, pages int) {
	tb.Helper()
	on, err := s.to.writer.take(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer s.to.writer.give(on)
	if _, err := on.ExecContext(tb.Context(), "PRAGMA max_page_count = "+strconv.Itoa(max(pages, 1))); err != nil {
		tb.Fatal(err)
	}
}

// LaterSteps adds steps to the schema that a store knows, as a later program would.
func LaterSteps(s *Store, sql ...string) {
	for _, text := range sql {
		version := len(s.schema) + 1
		s.schema = append(s.schema, Migration{Version: version, Name: "later", Checksum: strconv.Itoa(version), SQL: text})
	}
}

// Pragma reads a setting of the connection that writes, or of one that reads.
func Pragma(tb testing.TB, s *Store, reader bool, name string) (value string) {
	tb.Helper()
	p := s.to.writer
	if reader {
		p = s.to.readers
	}
	on, err := p.take(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer p.give(on)
	if err := on.QueryRowContext(tb.Context(), "PRAGMA "+name).Scan(&value); err != nil {
		tb.Fatal(err)
	}
	return value
}
