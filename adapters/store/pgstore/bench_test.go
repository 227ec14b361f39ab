package pgstore_test

import (
	"context"
	"testing"
	"time"

	"berth/ports/store"
	"berth/ports/store/storetest"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func opener(tb testing.TB) store.Store {
	tb.Helper()
	return open(tb, database(tb))
}

func fleetIn(ctx context.Context, r *store.Roles, size int) error {
	return storetest.Fleet(ctx, r, size)
}
func nodeName(i int) string { return storetest.NodeName(i) }

func BenchmarkBeat256(b *testing.B)          { storetest.BenchBeats(b, opener) }
func BenchmarkCaller(b *testing.B)           { storetest.BenchCallers(b, opener) }
func BenchmarkDiffering500(b *testing.B)     { storetest.BenchDiffering(b, opener) }
func BenchmarkView(b *testing.B)             { storetest.BenchView(b, opener) }
func BenchmarkAtomicallySmall(b *testing.B)  { storetest.BenchSmall(b, opener, 1) }
func BenchmarkAtomicallySmall8(b *testing.B) { storetest.BenchSmall(b, opener, 8) }
func BenchmarkPoll256(b *testing.B)          { storetest.BenchPolls(b, opener) }
func BenchmarkPollHistory0(b *testing.B)     { storetest.BenchPollHistory(b, opener, 0) }
func BenchmarkPollHistory20000(b *testing.B) { storetest.BenchPollHistory(b, opener, 20_000) }
