package relay

import (
	"fmt"
	"strings"
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

func (w *world) show() contract.Tenant {
	var t contract.Tenant
	w.Operator("GET", "/api/v1/tenants/"+w.tenant, nil, 200, &t)
	return t
}

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

// move is a migration in flight, as the test drives it.
type move struct {
	w              *world
	id             string
	source, target *harness.Node
	generation     int64
	manifest       string
	sequence       int64
}

func (w *world) begin() *move {
	from, to := w.holder(), w.other()
	m := &move{w: w, source: from, target: to, generation: w.show().Placement.Generation, manifest: root(1), sequence: 41}
	var out contract.Migration
	w.Operator("POST", "/api/v1/tenants/"+w.tenant+"/migrations", contract.NewMigration{TargetNode: to.ID}, 202, &out)
	m.id = out.ID
	return m
}

func root(n int) string { return strings.Repeat("0", 60) + fmt.Sprintf("%04x", n) }

func (m *move) path(step string) string { return "/migrations/" + m.id + "/" + step }

func (m *move) prepare() {
	m.source.Call("POST", m.path("prepared"), contract.Prepared{BaseSequence: 40}, 204, nil)
	m.target.Call("POST", m.path("prepared"), contract.Prepared{BaseSequence: 40}, 204, nil)
}

func (m *move) quiesce() {
	m.source.Call("POST", m.path("quiesced"), contract.Quiesced{
		Generation: m.generation, LastSequence: m.sequence, ManifestRoot: m.manifest,
	}, 204, nil)
}

func (m *move) report() contract.Copied {
	return contract.Copied{LastSequence: m.sequence, ManifestRoot: m.manifest}
}

func (m *move) copy() { m.target.Call("POST", m.path("copied"), m.report(), 204, nil) }

func (m *move) drain() {
	m.source.Call("POST", m.path("drained"), contract.Drained{Generation: m.generation + 1}, 204, nil)
}

func (m *move) show() contract.Migration {
	var out contract.Migration
	m.w.Operator("GET", "/api/v1/tenants/"+m.w.tenant+"/migrations/"+m.id, nil, 200, &out)
	return out
}

func (m *move) abortPath() string {
	return "/api/v1/tenants/" + m.w.tenant + "/migrations/" + m.id + "/abort"
}

// steps are the early states of a migration and how to come to each from the one before.
var steps = []struct {
	state string
	enter func(*move)
}{
	{"preparing", func(*move) {}},
	{"quiescing", (*move).prepare},
	{"copying", (*move).quiesce},
}
