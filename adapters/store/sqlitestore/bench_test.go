package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"berth/adapters/store/sqlitestore"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func opener(tb testing.TB) store.Store {
	tb.Helper()
	return open(tb, filepath.Join(tb.TempDir(), "control.db"))
}

// fleet opens a store with registered nodes, each with a credential.
func fleet(tb testing.TB, size int) *sqlitestore.Store {
	tb.Helper()
	s := open(tb, file(tb))
	do(tb, s, func(ctx context.Context, r *store.Roles) error { return storetest.Fleet(ctx, r, size) })
	return s
}

func nodeName(i int) string    { return storetest.NodeName(i) }
func fingerprint(i int) string { return storetest.Fingerprint(i) }

func do(tb testing.TB, s store.Store, fn func(context.Context, *store.Roles) error) {
	tb.Helper()
	if err := s.Atomically(tb.Context(), fn); err != nil {
		tb.Fatal(err)
	}
}

func BenchmarkBeat256(b *testing.B)          { storetest.BenchBeats(b, opener) }
func BenchmarkCaller(b *testing.B)           { storetest.BenchCallers(b, opener) }
func BenchmarkDiffering500(b *testing.B)     { storetest.BenchDiffering(b, opener) }
func BenchmarkView(b *testing.B)             { storetest.BenchView(b, opener) }
func BenchmarkAtomicallySmall(b *testing.B)  { storetest.BenchSmall(b, opener, 1) }
func BenchmarkPoll256(b *testing.B)          { storetest.BenchPolls(b, opener) }
func BenchmarkPollHistory0(b *testing.B)     { storetest.BenchPollHistory(b, opener, 0) }
func BenchmarkPollHistory20000(b *testing.B) { storetest.BenchPollHistory(b, opener, 20_000) }
