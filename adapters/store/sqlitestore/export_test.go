package sqlitestore

import (
	"strconv"
	"testing"
)

// LimitPages lets the file grow to so many pages and not further; one below its size is its size.
func LimitPages(tb testing.TB, s *Store, pages int) {
	tb.Helper()
	on, err := s.to.writer.Take(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer s.to.writer.Give(on)
	if _, err := on.ExecContext(tb.Context(), "PRAGMA max_page_count = "+strconv.Itoa(max(pages, 1))); err != nil {
		tb.Fatal(err)
	}
}

// LaterSteps adds steps to the schema that a store knows, as a later program would, readable from a version on.
func LaterSteps(s *Store, readableFrom int, sql ...string) {
	for _, text := range sql {
		version := len(s.schema) + 1
		s.schema = append(s.schema, Migration{
			Version: version, Name: "later", Checksum: strconv.Itoa(version), SQL: text, ReadableFrom: readableFrom,
		})
	}
}

// Pragma reads a setting of the connection that writes, or of one that reads.
func Pragma(tb testing.TB, s *Store, reader bool, name string) (value string) {
	tb.Helper()
	p := s.to.writer
	if reader {
		p = s.to.readers
	}
	on, err := p.Take(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer p.Give(on)
	if err := on.QueryRowContext(tb.Context(), "PRAGMA "+name).Scan(&value); err != nil {
		tb.Fatal(err)
	}
	return value
}

// EarlierSteps leaves a store so many steps of the schema to know, as a program had that was made then.
func EarlierSteps(s *Store, n int) { s.schema = s.schema[:n] }
