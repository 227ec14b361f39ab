package scale

import (
	"testing"
	"time"
)

// What is seeded satisfies every rule: the API reads it back as it was meant, nodes are served by it, and the audit chain
// is whole.
func TestSeedSatisfiesTheRules(t *testing.T) {
	t.Parallel()
	s := newSite(t, Plan{Regions: 2, Nodes: 12, Tenants: 1234, Held: 150, At: time.Now()})
	if err := s.check(60); err != nil {
		t.Fatal(err)
	}
}

// Every tenant is held by one node of its region, and a node's count is that of the tenants it holds.
func TestPlanCounts(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{
		{Regions: 10, Nodes: 2000, Tenants: 1000, Held: 500}, {Regions: 10, Nodes: 2000, Tenants: 1_000_000, Held: 500},
		{Regions: 2, Nodes: 12, Tenants: 1234, Held: 150},
	} {
		held := make([]int, p.Nodes)
		for i := range p.Tenants {
			held[p.Holder(i)]++
		}
		for i, count := range held {
			if first, holds := p.Holds(i); holds != count || count > 0 && p.Holder(first) != i {
				t.Fatalf("node %d of %+v holds %d, not %d from %d on", i, p, count, holds, first)
			}
		}
	}
}
