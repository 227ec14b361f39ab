package load

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Caller makes one operation after the other, and says how long each took as its own user sees it.
type Caller func() (time.Duration, error)

// Limit ends a measuring: after so many operations, or after so long. Zero is no limit.
type Limit struct {
	Ops int64
	For time.Duration
}

// Result is what was measured.
type Result struct {
	Ops      int64
	Elapsed  time.Duration
	Took     *hdrhistogram.Histogram // microseconds
	Server   time.Duration           // CPU of every replica
	Database time.Duration           // CPU of the Postgres server; 0 on SQLite
	Queries  int64                   // statements that Postgres was given, BEGIN and COMMIT among them; 0 on SQLite
	Mallocs  float64                 // allocations of every replica
}

// Measure lets the callers work at once, each on its own, until the limit.
func (r *Rig) Measure(limit Limit, callers ...Caller) Result {
	r.TB.Helper()
	before := r.read()
	var left atomic.Int64
	left.Store(limit.Ops)
	began := time.Now()
	goOn := func() bool {
		return (limit.Ops == 0 || left.Add(-1) >= 0) && (limit.For == 0 || time.Since(began) < limit.For)
	}
	done := make([]*tally, len(callers))
	var all sync.WaitGroup
	for i, call := range callers {
		done[i] = &tally{took: histogram()}
		all.Go(func() { done[i].work(call, goOn) })
	}
	all.Wait()
	elapsed := time.Since(began)
	out := r.read().since(before)
	out.Elapsed, out.Took = elapsed, histogram()
	var failed []error
	for _, d := range done {
		out.Ops += d.ops
		out.Took.Merge(d.took)
		failed = append(failed, d.err)
	}
	if err := errors.Join(failed...); err != nil {
		r.TB.Fatal(err)
	}
	return out
}

func histogram() *hdrhistogram.Histogram {
	const aMinute, digits = 60_000_000, 3
	return hdrhistogram.New(1, aMinute, digits)
}

// tally is what one caller did.
type tally struct {
	took *hdrhistogram.Histogram
	ops  int64
	err  error
}

func (t *tally) work(call Caller, goOn func() bool) {
	for goOn() {
		took, err := call()
		if err != nil {
			t.err = err
			return
		}
		t.ops++
		_ = t.took.RecordValue(max(1, took.Microseconds())) // longer than a minute counts for nothing
	}
}

// reading is what was used up to now.
type reading struct {
	server, database time.Duration
	queries          int64
	mallocs          float64
}

// read asks the database first and last, so that its own cost is outside.
func (r *Rig) read() reading {
	r.TB.Helper()
	var out reading
	for _, s := range r.Replicas {
		out.server += s.CPU()
		out.mallocs += s.Mallocs()
	}
	if r.Database != nil {
		out.database, out.queries = r.Database.CPU(), r.Database.Queries()
	}
	return out
}

func (now reading) since(before reading) Result {
	return Result{
		Server: now.server - before.server, Database: now.database - before.database,
		Queries: now.queries - before.queries, Mallocs: now.mallocs - before.mallocs,
	}
}

// Plus is both results as one.
func (r Result) Plus(o Result) Result {
	took := histogram()
	for _, h := range []*hdrhistogram.Histogram{r.Took, o.Took} {
		if h != nil {
			took.Merge(h)
		}
	}
	return Result{
		Ops: r.Ops + o.Ops, Elapsed: r.Elapsed + o.Elapsed, Took: took, Server: r.Server + o.Server,
		Database: r.Database + o.Database, Queries: r.Queries + o.Queries, Mallocs: r.Mallocs + o.Mallocs,
	}
}

// P is a quantile of how long an operation took, in milliseconds.
func (r Result) P(quantile float64) float64 { return float64(r.Took.ValueAtQuantile(quantile)) / 1000 }

// Rate is operations a second.
func (r Result) Rate() float64 { return float64(r.Ops) / r.Elapsed.Seconds() }

// Each is what one operation took of something.
func (r Result) Each(total float64) float64 { return total / float64(max(r.Ops, 1)) }

// ServerEach is the server's CPU for one operation, in microseconds.
func (r Result) ServerEach() float64 { return r.Each(float64(r.Server.Microseconds())) }

// DatabaseEach is the database's CPU for one operation, in microseconds.
func (r Result) DatabaseEach() float64 { return r.Each(float64(r.Database.Microseconds())) }

// Report makes the result that of a benchmark. A rate is only one where the callers were not held back by a wait.
func (r Result) Report(b *testing.B) {
	b.ReportMetric(r.Rate(), "ops/s")
	b.ReportMetric(r.P(50), "p50-ms")
	b.ReportMetric(r.P(99), "p99-ms")
	b.ReportMetric(r.ServerEach(), "server-µs/op")
	b.ReportMetric(r.Each(r.Mallocs), "server-allocs/op")
	if r.Database > 0 {
		b.ReportMetric(r.DatabaseEach(), "db-µs/op")
		b.ReportMetric(r.Each(float64(r.Queries)), "queries/op")
	}
}
