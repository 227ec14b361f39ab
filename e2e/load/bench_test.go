package load

import (
	"flag"
	"testing"
	"time"
)

// benchtime is how long -benchtime says to measure; 0 where it says how often.
func benchtime() time.Duration {
	d, err := time.ParseDuration(flag.Lookup("test.benchtime").Value.String())
	if err != nil {
		return 0
	}
	return d
}

// bench measures for as long as -benchtime says in one go: what stands behind the rig is made once.
func (r *Rig) bench(b *testing.B, callers ...Caller) {
	b.Helper()
	r.measured(b, callers...).Report(b)
}

// measured is bench without its report.
func (r *Rig) measured(b *testing.B, callers ...Caller) Result {
	b.Helper()
	limit := Limit{Ops: int64(b.N)}
	if d := benchtime(); d > 0 {
		limit = Limit{For: d}
	}
	b.ResetTimer()
	result := r.Measure(limit, callers...)
	b.StopTimer()
	b.ReportMetric(0, "ns/op") // of the whole measuring, and so of nothing
	return result
}
