package replicas

import (
	"fmt"
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
	"berth/e2e/lab"
)

// world is two replicas on one database, a region with nodes a, b and c, and a tenant acme on one of them.
type world struct {
	t      *testing.T
	pg     *lab.PostgresServer
	plan   *harness.Plan
	one    *harness.Server
	two    *harness.Server
	nodes  map[string]*harness.Node
	tenant string
}

// newWorld is a world on the server that the tests of this process share; they do nothing to it that others would notice.
func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	return worldOn(t, lab.Shared(t), env...)
}

// worldOn is a world on a server of its own.
func worldOn(t *testing.T, pg *lab.PostgresServer, env ...string) *world {
	t.Helper()
	return worldAt(t, pg, pg.InsideDSN(), env...)
}

// worldAt is a world whose replicas are told of their database by a DSN of their own.
func worldAt(t *testing.T, pg *lab.PostgresServer, dsn string, env ...string) *world {
	t.Helper()
	plan := harness.NewPlan(t, dsn, env...)
	replicas := plan.Start(2)
	w := &world{t: t, pg: pg, plan: plan, one: replicas[0], two: replicas[1], nodes: map[string]*harness.Node{}, tenant: "acme"}
	w.one.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: "eu", Origin: "https://eu.relay.test"}, 201, nil)
	for _, id := range []string{"a", "b", "c"} {
		w.nodes[id] = w.one.NewNode(id, "eu", 10_000)
	}
	w.one.Operator("POST", "/api/v1/tenants", contract.NewTenant{ID: w.tenant, HomeRegion: "eu"}, 201, nil)
	return w
}

func (w *world) both() []*harness.Server { return []*harness.Server{w.one, w.two} }

// turn is one replica and then the other.
func (w *world) turn(i int) *harness.Server { return w.both()[i%2] }

func (w *world) holder() *harness.Node { return w.nodes[w.one.Tenant(w.tenant).Placement.Node] }

// other is a node that does not hold the tenant.
func (w *world) other() *harness.Node {
	holder := w.holder()
	for _, id := range []string{"a", "b", "c"} {
		if id != holder.ID {
			return w.nodes[id]
		}
	}
	return nil
}

func (w *world) beatAll() {
	w.t.Helper()
	for _, n := range w.nodes {
		n.Beat()
	}
}

// agree fails the test where the replicas do not show the same tenant, or the audit chain is not whole on both.
func (w *world) agree() {
	w.t.Helper()
	first, second := w.one.Tenant(w.tenant), w.two.Tenant(w.tenant)
	if fmt.Sprintf("%+v", *first.Placement) != fmt.Sprintf("%+v", *second.Placement) || first.Authorization != second.Authorization {
		w.t.Errorf("one replica shows %+v %+v, the other %+v %+v", first, *first.Placement, second, *second.Placement)
	}
	for _, s := range w.both() {
		w.whole(s)
	}
}

func (w *world) whole(s *harness.Server) {
	w.t.Helper()
	var verdict contract.AuditVerdict
	if s.Operator("GET", "/api/v1/audit/verify", nil, 200, &verdict); !verdict.Whole {
		w.t.Errorf("the audit chain is broken: %+v", verdict)
	}
}
