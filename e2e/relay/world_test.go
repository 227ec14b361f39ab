package relay

import (
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// world is a region with nodes a, b and c, and a tenant acme on one of them.
type world struct {
	*harness.Server
	nodes  map[string]*harness.Node
	tenant string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t)
}

// newWorldWith starts the server with further environment.
func newWorldWith(t *testing.T, env ...string) *world {
	t.Helper()
	s := harness.Start(t, env...)
	s.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: "eu", Origin: "https://eu.relay.test"}, 201, nil)
	w := &world{Server: s, nodes: map[string]*harness.Node{}, tenant: "acme"}
	for _, id := range []string{"a", "b", "c"} {
		w.nodes[id] = s.NewNode(id, "eu", 100)
	}
	s.Operator("POST", "/api/v1/tenants", contract.NewTenant{ID: w.tenant, HomeRegion: "eu"}, 201, nil)
	return w
}

func (w *world) show() contract.Tenant { return w.Tenant(w.tenant) }

func (w *world) holder() *harness.Node { return w.nodes[w.show().Placement.Node] }

// other is a node that does not hold the tenant.
func (w *world) other() *harness.Node {
	holder := w.show().Placement.Node
	for _, id := range []string{"a", "b", "c"} {
		if id != holder {
			return w.nodes[id]
		}
	}
	return nil
}

func (w *world) begin() *harness.Move { return w.Begin(w.tenant, w.holder(), w.other()) }

// steps are the early states of a migration and how to come to each from the one before.
var steps = []struct {
	state string
	enter func(*harness.Move)
}{
	{"preparing", func(*harness.Move) {}},
	{"quiescing", (*harness.Move).Prepare},
	{"copying", (*harness.Move).Quiesce},
}
