package sqliteengine_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/fault"
	"berth/ports/engine"
)

// single is the Engine of a new disk's only tenant.
func single(tb testing.TB) engine.Engine {
	tb.Helper()
	d := open(tb, tb.TempDir())
	present(tb, d, "a")
	e, err := d.Open(tb.Context(), "a")
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// What waits is bounded: what comes beyond is refused at once, and what was let in is committed.
func TestBusy(t *testing.T) {
	t.Parallel()
	e := single(t)
	release := sqliteengine.Hold(e)
	var done, busy atomic.Int64
	var hands sync.WaitGroup
	const count = sqliteengine.Most + 100
	hands.Add(count)
	for i := range count {
		e.Append(write(fmt.Sprint("m", i)), func(_ engine.Appended, err error) {
			defer hands.Done()
			switch {
			case err == nil:
				done.Add(1)
			case fault.SlugOf(err) == "engine_busy" && fault.KindOf(err) == fault.Exhausted:
				busy.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	if n := busy.Load(); n < 100 {
		t.Errorf("%d are refused while everything waits", n)
	}
	release()
	hands.Wait()
	u, err := e.Usage(t.Context())
	if err != nil || u.Messages != done.Load() || done.Load()+busy.Load() != count || done.Load() < 4096 {
		t.Fatalf("%d are done and %d refused: %+v %v", done.Load(), busy.Load(), u, err)
	}
}

// So are their bodies.
func TestBusyWithBytes(t *testing.T) {
	t.Parallel()
	e := single(t)
	release := sqliteengine.Hold(e)
	var hands sync.WaitGroup
	var busy atomic.Int64
	const count = 2000 // of 48 KiB, 94 MiB in all
	hands.Add(count)
	body := make([]byte, 48<<10)
	for i := range count {
		w := write(fmt.Sprint("m", i))
		w.Body = body
		e.Append(w, func(_ engine.Appended, err error) {
			defer hands.Done()
			if fault.SlugOf(err) == "engine_busy" {
				busy.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	if n := busy.Load(); n < 1000 || n == count {
		t.Errorf("%d of %d are refused", n, count)
	}
	release()
	hands.Wait()
	if a, err := appendNow(e, write("late")); err != nil || a.Seq != count-busy.Load()+1 {
		t.Errorf("once nothing waits it is %+v %v", a, err)
	}
}

// What another program committed counts, whatever was remembered of before.
func TestAnotherWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	present(t, d, "a")
	var all []engine.Engine
	for range 2 {
		e, err := open(t, dir).Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	for i := range int64(6) {
		if a, err := appendNow(all[i%2], write(fmt.Sprint("m", i))); err != nil || a.Seq != i+1 {
			t.Fatalf("message %d is %+v %v", i+1, a, err)
		}
	}
}

// Readers see a gapless beginning of a route whenever they look, also while checkpoints write the log back beside them.
func TestReadersThroughCheckpoints(t *testing.T) {
	t.Parallel()
	e := single(t)
	over := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			after := int64(0)
			for last := false; ; {
				select {
				case <-over:
					last = true
				default:
				}
				got, err := e.Read(t.Context(), engine.Range{Route: "main", After: after, UpTo: math.MaxInt64, Bytes: 64 << 10})
				if err != nil {
					t.Error(err)
					return
				}
				for i, m := range got {
					if m.Seq != after+int64(i)+1 || string(m.Body) != string(large(0).Body) {
						t.Errorf("message %d is %d", after+int64(i)+1, m.Seq)
						return
					}
				}
				after += int64(len(got))
				if last && len(got) == 0 {
					if after != 4000 {
						t.Errorf("a reader saw %d", after)
					}
					return
				}
			}
		})
	}
	var writers sync.WaitGroup
	for hand := range 40 {
		writers.Go(func() {
			for i := range 100 { // 16 MiB: the log is written back every 4
				if _, err := appendNow(e, large(hand*100+i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(over)
	readers.Wait()
}
