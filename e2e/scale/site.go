package scale

import (
	"context"
	"testing"
	"time"

	"berth/e2e/load"
)

// site is a control plane over a seeded database.
type site struct {
	*load.Rig
	plan   Plan
	nodes  []*load.Node
	bodies [][]byte      // of their polls
	took   time.Duration // to seed it

	idle load.Result
	by   map[string]*measured
	told []string // what there is to say beside the table
}

// leases last so long that nodes which are measured by other things than their heartbeats stay online for the whole run.
var leases = []string{"BERTH_LEASE_DURATION=10m", "BERTH_LEASE_MARGIN=10m", "BERTH_DEADLINE_DRAIN=1h"}

// newSite seeds a database of its own and starts a berthd on it.
func newSite(tb testing.TB, p Plan, settings ...string) *site {
	tb.Helper()
	d := load.NewDatabase(tb, settings...)
	s := &site{Rig: load.OnPostgres(tb, d, 1, leases...), plan: p, by: map[string]*measured{}}
	s.Away(func() {
		began := time.Now()
		if err := Seed(context.Background(), d.DSN(), p); err != nil {
			tb.Fatal(err)
		}
		d.SQL("CHECKPOINT")
		s.took = time.Since(began)
	})
	for i := range p.Nodes {
		id, region := p.Node(i)
		n, err := load.NewNode(id, region, p.Fingerprint(i), 1, s.Secret)
		if err != nil {
			tb.Fatal(err)
		}
		n.Sequence = 1
		s.nodes = append(s.nodes, n)
		body, err := load.PollBody(p.known(i))
		if err != nil {
			tb.Fatal(err)
		}
		s.bodies = append(s.bodies, body)
	}
	return s
}
