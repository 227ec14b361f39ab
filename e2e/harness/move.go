package harness

import (
	"fmt"
	"strings"

	"berth/adapters/contract"
)

// Move is a migration in flight, as a test drives it for the operator and both nodes.
type Move struct {
	s              *Server
	ID, Tenant     string
	Source, Target *Node
	Generation     int64  // before the switch
	Manifest       string // the root that the source reports
	Sequence       int64  // the last one committed on the source
}

// Begin asks for a migration of a tenant.
func (s *Server) Begin(tenant string, from, to *Node) *Move {
	s.t.Helper()
	var out contract.Migration
	s.Operator("POST", "/api/v1/tenants/"+tenant+"/migrations", contract.NewMigration{TargetNode: to.ID}, 202, &out)
	return s.Follow(tenant, out.ID, from, to)
}

// Follow takes up a migration that was begun, and not switched.
func (s *Server) Follow(tenant, id string, from, to *Node) *Move {
	s.t.Helper()
	return &Move{
		s: s, ID: id, Tenant: tenant, Source: from, Target: to, Generation: s.Tenant(tenant).Placement.Generation,
		Manifest: Root(1), Sequence: 41,
	}
}

// Tenant is a tenant as the operator sees it.
func (s *Server) Tenant(id string) contract.Tenant {
	s.t.Helper()
	var t contract.Tenant
	s.Operator("GET", "/api/v1/tenants/"+id, nil, 200, &t)
	return t
}

// Root is a manifest root that differs for each n.
func Root(n int) string { return strings.Repeat("0", 60) + fmt.Sprintf("%04x", n) }

// Through lets everybody speak to another replica from now on.
func (m *Move) Through(s *Server) *Move {
	m.s = s
	m.Source.Through(s)
	m.Target.Through(s)
	return m
}

// Path is that of a node's report.
func (m *Move) Path(step string) string { return "/migrations/" + m.ID + "/" + step }

// AbortPath is that of the operator's abort.
func (m *Move) AbortPath() string {
	return "/api/v1/tenants/" + m.Tenant + "/migrations/" + m.ID + "/abort"
}

// Prepare reports for both nodes that the base is copied.
func (m *Move) Prepare() {
	m.s.t.Helper()
	m.Source.Call("POST", m.Path("prepared"), contract.Prepared{BaseSequence: 40}, 204, nil)
	m.Target.Call("POST", m.Path("prepared"), contract.Prepared{BaseSequence: 40}, 204, nil)
}

// Quiesce reports that the source writes no more.
func (m *Move) Quiesce() {
	m.s.t.Helper()
	m.Source.Call("POST", m.Path("quiesced"), contract.Quiesced{
		Generation: m.Generation, LastSequence: m.Sequence, ManifestRoot: m.Manifest,
	}, 204, nil)
}

// Report is what the target reports when it has copied.
func (m *Move) Report() contract.Copied {
	return contract.Copied{LastSequence: m.Sequence, ManifestRoot: m.Manifest}
}

// Copy sends it.
func (m *Move) Copy() { m.s.t.Helper(); m.Target.Call("POST", m.Path("copied"), m.Report(), 204, nil) }

// Drain reports that the source closed its last connection.
func (m *Move) Drain() {
	m.s.t.Helper()
	m.Source.Call("POST", m.Path("drained"), contract.Drained{Generation: m.Generation + 1}, 204, nil)
}

// Show is the migration as the operator sees it.
func (m *Move) Show() contract.Migration {
	m.s.t.Helper()
	var out contract.Migration
	m.s.Operator("GET", "/api/v1/tenants/"+m.Tenant+"/migrations/"+m.ID, nil, 200, &out)
	return out
}

// Expect fails the test where migration and placement are not what they should be.
func (m *Move) Expect(migration, state, node string, generation int64) {
	m.s.t.Helper()
	p, got := m.s.Tenant(m.Tenant).Placement, m.Show().State
	if got != migration || p.State != state || p.Node != node || p.Generation != generation {
		m.s.t.Fatalf("migration %s, placement %s on %s at %d; want %s, %s on %s at %d",
			got, p.State, p.Node, p.Generation, migration, state, node, generation)
	}
}
