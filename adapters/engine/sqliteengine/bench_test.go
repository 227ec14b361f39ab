package sqliteengine_test

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/placement"
	"berth/ports/engine"
)

// engines opens so many tenants' Engines.
func engines(tb testing.TB, d *sqliteengine.Disk, n int) (out []engine.Engine) {
	tb.Helper()
	for i := range n {
		id := fmt.Sprintf("t%d", i)
		if _, err := d.Change(tb.Context(), id, func(k *engine.Kept) error {
			k.Copy = placement.Copy{Present: true, Stamp: 1}
			return nil
		}); err != nil {
			tb.Fatal(err)
		}
		e, err := d.Open(tb.Context(), id)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = e.Close() })
		out = append(out, e)
	}
	return out
}

// publishing appends b.N messages of 200 bytes, by so many appenders to each Engine of which each waits for its answer.
func publishing(b *testing.B, all []engine.Engine, each int) {
	b.Helper()
	body := []byte(`"` + string(bytes.Repeat([]byte("x"), 198)) + `"`)
	var next atomic.Int64
	var hands sync.WaitGroup
	now := time.Now()
	b.ReportAllocs()
	b.ResetTimer()
	for t, e := range all {
		for p := range each {
			hands.Go(func() {
				principal := fmt.Sprintf("dev_%d_%d", t, p)
				answered := make(chan error, 1)
				for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
					w := engine.Write{Generation: 1, Route: "main", Principal: principal, ID: fmt.Sprintf("m%d", n), At: now, Body: body}
					e.Append(w, func(_ engine.Appended, err error) { answered <- err })
					if err := <-answered; err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
	}
	hands.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}

// Durable appends to 200 tenants at a time, by 16 appenders each.
func BenchmarkAppend200Tenants(b *testing.B) {
	publishing(b, engines(b, open(b, b.TempDir()), 200), 16)
}

// Durable appends to one tenant by 64 appenders.
func BenchmarkAppendOneTenant64(b *testing.B) {
	publishing(b, engines(b, open(b, b.TempDir()), 1), 64)
}
