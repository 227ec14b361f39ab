package sqliteengine_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"berth/adapters/engine/sqliteengine"
	"berth/ports/engine"
)

// engines opens so many tenants' Engines.
func engines(tb testing.TB, d *sqliteengine.Disk, name string, n int) (out []engine.Engine) {
	tb.Helper()
	for i := range n {
		id := fmt.Sprint(name, i)
		present(tb, d, id)
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
	before := worked(b)
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
	b.ReportMetric(float64((worked(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// worked is the time that processors spent on this process, which a busy machine does not change as it does the rate.
func worked(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Durable appends to 200 tenants at a time, by 16 appenders each.
func BenchmarkAppend200Tenants(b *testing.B) {
	publishing(b, engines(b, open(b, b.TempDir()), "t", 200), 16)
}

// Durable appends to one tenant by 64 appenders.
func BenchmarkAppendOneTenant64(b *testing.B) {
	publishing(b, engines(b, open(b, b.TempDir()), "t", 1), 64)
}

// Reading a route from its beginning, 64 KiB at a time.
func BenchmarkRead(b *testing.B) {
	e := single(b)
	for i := range 5 {
		touches(b, e, i*2000)
	}
	b.ReportAllocs()
	b.ResetTimer()
	messages := 0
	for after := int64(0); b.Loop(); {
		got, err := e.Read(b.Context(), engine.Range{Route: "main", After: after, UpTo: 10_000, Bytes: 64 << 10})
		if err != nil {
			b.Fatal(err)
		}
		messages += len(got)
		if after += int64(len(got)); after == 10_000 {
			after = 0
		}
	}
	b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
}

// What an open Engine takes of memory that was written to and read from, and is idle since.
func BenchmarkIdleEngine(b *testing.B) {
	d := open(b, b.TempDir())
	const count = 200
	touches(b, engines(b, d, "warm", 1)[0], 0) // what the process takes once
	before := resident(b)
	for _, e := range engines(b, d, "t", count) {
		touches(b, e, 0)
	}
	b.ReportMetric(float64(resident(b)-before)/count/1024, "KiB/engine")
}

// touches appends 2,000 messages of 200 bytes, and reads what there is.
func touches(b *testing.B, e engine.Engine, from int) {
	b.Helper()
	var hands sync.WaitGroup
	hands.Add(2000)
	for i := range 2000 {
		w := write(fmt.Sprint("m", from+i))
		w.Body = []byte(`"` + string(bytes.Repeat([]byte("x"), 198)) + `"`)
		e.Append(w, func(_ engine.Appended, err error) {
			if err != nil {
				b.Error(err)
			}
			hands.Done()
		})
	}
	hands.Wait()
	if _, err := e.Read(b.Context(), engine.Range{Route: "main", UpTo: 2000, Bytes: 1 << 20}); err != nil {
		b.Fatal(err)
	}
}

// resident is the process's memory, after what it does not need was given back.
func resident(b *testing.B) int64 {
	b.Helper()
	debug.FreeOSMemory()
	stat, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(stat), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
