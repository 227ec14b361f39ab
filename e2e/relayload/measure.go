package relayload

import (
	"errors"
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// other is a berth-relay that is measured instead of the tree's.
var other = flag.String("relay", "", "path of a berth-relay to measure, instead of the one of this tree")

// benchtime is how long -benchtime says to measure.
func benchtime() time.Duration {
	const least = time.Second
	d, err := time.ParseDuration(flag.Lookup("test.benchtime").Value.String())
	if err != nil {
		return least
	}
	return max(d, least)
}

// Result is what a load came to.
type Result struct {
	Ops     int64
	Elapsed time.Duration
	Took    *hdrhistogram.Histogram // microseconds
	CPU     time.Duration           // of the servers
	Written int64                   // bytes that they wrote to the disk
}

// Rate is operations a second.
func (r Result) Rate() float64 { return float64(r.Ops) / r.Elapsed.Seconds() }

// P is a quantile in milliseconds.
func P(h *hdrhistogram.Histogram, quantile float64) float64 {
	return float64(h.ValueAtQuantile(quantile)) / 1000
}

const warmUp = 2 * time.Second

// Drive lets every lane work for as long as -benchtime says, after a while that does not count.
func Drive(tb testing.TB, p *Phase, servers []*Process, lanes []*Lane, work func(i int, l *Lane)) Result {
	tb.Helper()
	p.now.Store(warming)
	var all sync.WaitGroup
	for i, l := range lanes {
		l.counted = 0
		l.took.Reset()
		all.Go(func() { work(i, l) })
	}
	pause(warmUp)
	before, written := used(servers)
	began := time.Now()
	p.now.Store(measuring)
	pause(benchtime())
	p.now.Store(ended)
	out := Result{Elapsed: time.Since(began), Took: histogram()}
	out.CPU, out.Written = used(servers)
	out.CPU, out.Written = out.CPU-before, out.Written-written
	all.Wait()
	var failed []error
	for _, l := range lanes {
		out.Ops += l.counted
		out.Took.Merge(l.took)
		failed = append(failed, l.err)
	}
	must(tb, errors.Join(failed...))
	return out
}

func used(servers []*Process) (cpu time.Duration, written int64) {
	for _, p := range servers {
		cpu += p.CPU()
		written += p.Written()
	}
	return cpu, written
}

// Report makes the result that of a benchmark.
func (r Result) Report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // of the whole measuring, and so of nothing
	b.ReportMetric(r.Rate(), "publishes/s")
	b.ReportMetric(P(r.Took, 50), "ack-p50-ms")
	b.ReportMetric(P(r.Took, 99), "ack-p99-ms")
	b.ReportMetric(float64(r.CPU.Microseconds())/float64(max(r.Ops, 1)), "server-µs/op")
	b.ReportMetric(float64(r.Written)/1024/float64(max(r.Ops, 1)), "written-KiB/op")
	b.ReportMetric(r.CPU.Seconds()/r.Elapsed.Seconds(), "server-cores")
}

// pause lets what is measured go on for so long.
func pause(d time.Duration) { <-time.After(d) }
