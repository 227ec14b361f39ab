package sqlitestore

import (
	"strconv"
	"testing"
)

// LimitPages lets the file grow to so many pages and not further; one below its size is its size.
func LimitPages(tb testing.TB, s *Store, pages int) {
	tb.Helper()
	on, err := s.writer.take(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer s.writer.give(on)
	if _, err := on.ExecContext(tb.Context(), "PRAGMA max_page_count = "+strconv.Itoa(max(pages, 1))); err != nil {
		tb.Fatal(err)
	}
}
