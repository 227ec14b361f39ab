package scale

import (
	"flag"
	"os"
	"regexp"
	"testing"
	"time"
)

var (
	few    = flag.Int("few", 1000, "tenants of the small size")
	many   = flag.Int("many", 1_000_000, "tenants of the large size")
	nodes  = flag.Int("nodes", 2000, "nodes at either size")
	during = flag.Duration("during", 12*time.Second, "how long each operation is measured at each size")
	only   = flag.String("only", ".", "which operations, by a regular expression")
	fresh  = flag.Duration("fresh", time.Minute, "how long freshness is measured")
)

// What an operation costs does not grow with the number of tenants. It prints one table; make scale runs it.
func BenchmarkScale(b *testing.B) {
	small, large := open(b, *few), open(b, *many)
	for _, s := range []*site{small, large} {
		s.rest(*during)
	}
	large.freshness(*fresh)
	chosen := choose(b, *only)
	for _, o := range chosen {
		for _, s := range []*site{small, large} {
			s.begin(o)
		}
		for range rounds {
			for _, s := range []*site{small, large} {
				s.take(o, *during/rounds)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // of everything, and so of nothing
	if err := write(os.Stdout, chosen, small, large); err != nil {
		b.Fatal(err)
	}
}

// open seeds one size and reads a sample of it back.
func open(b *testing.B, tenants int) *site {
	b.Helper()
	const regions, held, sample = 10, 500, 200
	s := newSite(b, Plan{Regions: regions, Nodes: *nodes, Tenants: tenants, Held: held, At: time.Now()},
		"shared_buffers=1GB", "maintenance_work_mem=256MB", "max_wal_size=8GB", "checkpoint_timeout=30min")
	s.tell("seeded in %.0f s, %s of database", s.took.Seconds(),
		s.Database.SQL("SELECT pg_size_pretty(pg_database_size(current_database()))"))
	began := time.Now()
	if err := s.check(sample); err != nil {
		b.Fatal(err)
	}
	s.tell("%d tenants read back, and the audit chain verified, in %.0f s", sample, time.Since(began).Seconds())
	return s
}

func choose(b *testing.B, pattern string) (out []operation) {
	b.Helper()
	names, err := regexp.Compile(pattern)
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range operations {
		if names.MatchString(o.name) {
			out = append(out, o)
		}
	}
	return out
}
