// Package authoritytest is a small control plane in memory for tests of nodes. What it decides is decided by the domain:
// leases, placements, migrations, authorizations and credentials are the real ones.
package authoritytest

import (
	"crypto/ed25519"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/clock"
)

// The names that everything is under.
const (
	TrustDomain = "berth.test"
	Region      = "eu"
)

// Control is the control plane. Its methods are safe for concurrent use. Use New.
type Control struct {
	Clock clock.Clock
	Terms placement.LeaseTerms
	Life  time.Duration // of the certificates that it signs
	// Deadlines of migrations; Sweep keeps to them.
	Deadlines placement.Deadlines
	Windows   identity.Windows // of the keys for device tokens

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced with every change
	nodes      map[string]*node
	tenants    map[string]*tenant
	migrations map[string]*placement.Migration
	tokens     map[[32]byte]*identity.OneTimeSecret
	watch      *placement.Watch
	root       *x509.Certificate
	key        ed25519.PrivateKey
	serial     int64
	ring       *identity.KeyRing
}

type node struct {
	placement.Candidate
	credentials *identity.Credentials
}

type tenant struct {
	*authorization.Tenant
	place  *placement.Placement
	routes []authorization.Route
	log    []authorization.Change

	principals []*authorization.Principal
	handles    []*authorization.Handle
}

// New returns a control plane without nodes and tenants. It grants leases by its terms and counts them by others, which
// are the same unless a test wants it to count wrongly.
func New(c clock.Clock, terms, counted placement.LeaseTerms) *Control {
	p := &Control{
		Clock: c, Terms: terms, Life: 24 * time.Hour, Deadlines: placement.DefaultDeadlines(), changed: make(chan struct{}),
		nodes: map[string]*node{}, tenants: map[string]*tenant{}, migrations: map[string]*placement.Migration{},
		tokens: map[[32]byte]*identity.OneTimeSecret{}, watch: placement.NewWatch(counted),
		Windows: identity.Windows{PublishAhead: 2 * time.Minute, SignFor: time.Hour, VerifyAfter: 11 * time.Minute, Skew: 30 * time.Second},
		ring:    identity.RestoreKeyRing(identity.KeyForDeviceTokens, nil),
	}
	p.newRoot()
	return p
}

// SPIFFEID is a node's identity.
func SPIFFEID(id string) identity.SPIFFEID {
	return must(identity.RelayID(TrustDomain, Region, id))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("authoritytest: %v", err))
	}
	return v
}

// enter holds the control plane for one transaction. What it leaves tells whoever waits.
func (p *Control) enter() (leave func()) {
	p.mu.Lock()
	return func() {
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
}

// AddNode defines a node of the region with room for so many tenants.
func (p *Control) AddNode(id string, room int64) {
	p.AddNodeIn(Region, id, room)
}

// AddTenant places a tenant on a node for the first time.
func (p *Control) AddTenant(id, on string) {
	defer p.enter()()
	t, route, err := authorization.NewTenant(id, p.Clock.Now())
	if err != nil {
		panic(fmt.Sprintf("authoritytest: %v", err))
	}
	p.tenants[id] = &tenant{Tenant: t, routes: []authorization.Route{route}, place: placement.First(id, p.nodes[on].Node, p.Clock.Now())}
}

// Place is where a tenant lives now.
func (p *Control) Place(id string) placement.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tenants[id].place.Record()
}

// Lease is a node's lease row now.
func (p *Control) Lease(id string) placement.LeaseRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nodes[id].Lease.Record()
}

// Migration is a migration as it stands.
func (p *Control) Migration(id string) placement.MigrationRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.migrations[id].Record()
}

// Suspend suspends a tenant, and Resume makes it active again; each raises its revision.
func (p *Control) Suspend(id string) { p.change(id, (*authorization.Tenant).Suspend) }

// Resume makes a tenant active again.
func (p *Control) Resume(id string) { p.change(id, (*authorization.Tenant).Resume) }

func (p *Control) change(id string, event func(*authorization.Tenant, time.Time) ([]authorization.Change, error)) {
	defer p.enter()()
	t := p.tenants[id]
	t.log = append(t.log, must(event(t.Tenant, p.Clock.Now()))...)
}

// Compact forgets a tenant's change log.
func (p *Control) Compact(id string) {
	defer p.enter()()
	t := p.tenants[id]
	t.log = slices.DeleteFunc(t.log, func(c authorization.Change) bool { return c.Revision <= t.Compact(0) })
}

// ReplaceStorage forgets a node's data directory, as an operator may.
func (p *Control) ReplaceStorage(id string) {
	defer p.enter()()
	p.nodes[id].Lease.ReplaceStorage()
}

// Migrate begins to move a tenant to a node, and returns the migration's id.
func (p *Control) Migrate(id, target string) (string, error) {
	defer p.enter()()
	t := p.tenants[id]
	name := fmt.Sprintf("mig_%04d", len(p.migrations)+1)
	m, err := placement.Prepare(placement.Plan{ID: name}, t.place, p.nodes[t.place.Record().Node].Node, p.nodes[target].Candidate,
		p.Deadlines, p.Clock.Now())
	if err != nil {
		return "", err
	}
	p.migrations[name] = m
	return name, nil
}

// Recover begins to move a tenant off a node whose lease ran out by the control plane's count, from a backup that is
// empty, as every tenant here is.
func (p *Control) Recover(id, target string) (string, error) {
	defer p.enter()()
	t := p.tenants[id]
	r := t.place.Record()
	name := fmt.Sprintf("mig_%04d", len(p.migrations)+1)
	backup := placement.Backup{Tenant: id, Node: r.Node, Generation: r.Generation, At: p.Clock.Now(), Manifest: must(
		placement.Content{Tenant: id, Generation: r.Generation}.Manifest())}
	w := placement.Parties{Placement: t.place, Source: p.nodes[r.Node].Node}
	loss := placement.Loss{Lease: p.nodes[r.Node].Lease, Backup: &backup}
	if prior := p.migrations[r.Migration]; prior != nil {
		loss.Prior, w.Target = prior, p.nodes[peerOf(prior, r.Node)].Node
	}
	plan := placement.RecoverPlan{ID: name, LostNode: r.Node, Generation: r.Generation, AcceptDataLoss: true}
	m, err := placement.Recover(plan, w, p.nodes[target].Candidate, loss, p.Deadlines, p.Clock.Now())
	if err != nil {
		return "", err
	}
	p.migrations[name] = m
	return name, nil
}

func peerOf(m *placement.Migration, of string) string {
	if r := m.Record(); r.Source != of {
		return r.Source
	}
	return m.Record().Target
}

// Abort aborts a migration.
func (p *Control) Abort(id string) error {
	defer p.enter()()
	m := p.migrations[id]
	return m.Abort(p.parties(m), "operator", p.Clock.Now())
}

func (p *Control) parties(m *placement.Migration) placement.Parties {
	r := m.Record()
	return placement.Parties{Placement: p.tenants[r.Tenant].place, Source: p.nodes[r.Source].Node, Target: p.nodes[r.Target].Node}
}

// Sweep counts leases and carries migrations on, once.
func (p *Control) Sweep() {
	defer p.enter()()
	now := p.Clock.Elapsed()
	for _, id := range slices.Sorted(maps.Keys(p.nodes)) {
		n := p.nodes[id]
		mark := n.Lease.Mark()
		p.watch.Observe(id, mark, now)
		if n.Lease.Live() && p.watch.RanOut(id, mark, now) {
			_ = n.Lease.Lapse(mark) // it is the mark that was just read
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.migrations)) {
		p.carry(p.migrations[id])
	}
}

func (p *Control) carry(m *placement.Migration) {
	if m.Ended() {
		return
	}
	w, lease, now := p.parties(m), p.nodes[m.Record().Source].Lease, p.Clock.Now()
	switch m.Due(p.Deadlines, lease.Live(), now) {
	case placement.Wait:
	case placement.DoQuiesce:
		_ = m.Quiesce(w, p.Deadlines, now)
	case placement.DoSwitch:
		_ = m.SwitchOver(w, p.Deadlines, now)
	case placement.DoFail:
		_ = m.Fail(w, m.Record().State.String(), "late", now)
	case placement.DoEndDrain:
		_ = m.DrainDeadline(w, lease, now)
	}
}

func notFound() error {
	return fault.New(fault.NotFound, "not_found", "there is no such thing for this node")
}
