package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"berth/application/fleet"
	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
	"berth/ports/notify/notifytest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// world is one control plane over a memory store and a clock that the test moves. The test plays the nodes.
type world struct {
	*fleet.Fleet
	t     tb
	ctx   context.Context
	mem   *storetest.Memory
	clock *clocktest.Fake
	hints *notifytest.Fake
	nonce *atomic.Int64
	seq   map[string]int64 // the last beat of each node
	gen   map[string]int64 // its heartbeat generation
}

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	alice = audit.Actor{Kind: audit.ActorOperator, ID: "alice"}
)

func newWorld(t tb) *world {
	w := &world{
		t: t, ctx: context.Background(), mem: storetest.NewMemory(), clock: clocktest.New(noon), hints: notifytest.NewFake(),
		nonce: new(atomic.Int64), seq: map[string]int64{}, gen: map[string]int64{},
	}
	settings := fleet.DefaultSettings("example.test")
	w.Fleet = &fleet.Fleet{Store: w.mem, Clock: w.clock, IDs: idstest.New(1), Hints: w.hints, Settings: settings}
	return w
}

// twoNodes is a world with region eu, nodes a and b, and a tenant that lives on a.
func twoNodes(t tb) *world {
	t.Helper()
	w := newWorld(t)
	w.region("eu")
	w.node("a", "eu", 100)
	w.tenant("acme", "eu")
	w.node("b", "eu", 100)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("unexpected: %v", err)
	}
}

// refused fails the test unless err is the fault with this slug.
func (w *world) refused(err error, slug string) {
	w.t.Helper()
	if fault.SlugOf(err) != slug || err == nil {
		w.t.Fatalf("got %v, want a refusal %s", err, slug)
	}
}

func (w *world) region(id string) {
	w.t.Helper()
	_, err := w.CreateRegion(w.ctx, fleet.CreateRegionRequest{Actor: alice, ID: id, Origin: "https://" + id + ".example.test"})
	w.must(err)
}

// node defines a node that registers and beats once.
func (w *world) node(id, region string, tenants int64) {
	w.t.Helper()
	w.defineNode(id, region, tenants)
	w.register(id, "boot-1")
	w.beat(id)
}

func (w *world) defineNode(id, region string, tenants int64) {
	w.t.Helper()
	_, err := w.CreateNode(w.ctx, fleet.CreateNodeRequest{
		Actor: alice, ID: id, Region: region, Capacity: placement.Capacity{Tenants: tenants, Bytes: 1 << 40},
	})
	w.must(err)
}

func (w *world) register(node, boot string) int64 {
	w.t.Helper()
	g, err := w.Register(w.ctx, fleet.RegisterRequest{
		Caller: caller(node), Ticket: w.ticket(), Registration: placement.Registration{
			BootID: boot, StorageID: "disk-" + node, Version: "1", Advertise: node + ".example.test:9443",
		},
	})
	w.must(err)
	w.gen[node], w.seq[node] = g, 0
	return g
}

func (w *world) beat(node string) fleet.HeartbeatAnswer {
	w.t.Helper()
	out, err := w.tryBeat(node)
	w.must(err)
	return out
}

func (w *world) tryBeat(node string) (fleet.HeartbeatAnswer, error) {
	w.seq[node]++
	return w.Heartbeat(w.ctx, fleet.HeartbeatRequest{
		Caller: caller(node), Ticket: w.ticket(), Generation: w.gen[node], Sequence: w.seq[node],
	})
}

// tenant creates a tenant as application/access does: its head and its place in one transaction. nil: it waits.
func (w *world) tenant(id, region string) *placement.Placement {
	w.t.Helper()
	p, err := w.tryTenant(id, region)
	w.must(err)
	return p
}

func (w *world) tryTenant(id, region string) (*placement.Placement, error) {
	var p *placement.Placement
	err := w.Store.Atomically(w.ctx, func(ctx context.Context, r *store.Roles) error {
		head, _, err := authorization.NewTenant(id, w.clock.Now())
		if err != nil {
			return err
		}
		if err := r.Tenants.Create(ctx, head); err != nil {
			return err
		}
		p, err = w.Place(ctx, r, id, region, w.clock.Now())
		return err
	})
	return p, err
}

// replica is another control plane over the same store, with a monotonic clock of its own.
func (w *world) replica() *world {
	c := *w
	c.clock = clocktest.New(w.clock.Now())
	ids := prefixed{idstest.New(2), "r2"}
	c.Fleet = &fleet.Fleet{Store: w.Store, Clock: c.clock, IDs: ids, Hints: w.hints, Settings: w.Settings}
	return &c
}

// prefixed keeps the ids of two sources apart.
type prefixed struct {
	*idstest.Source
	infix string
}

func (p prefixed) New(prefix string) string { return p.Source.New(prefix + "_" + p.infix) }

func caller(node string) identity.Caller {
	return identity.Caller{
		Node: node, Region: "eu", SPIFFEID: "spiffe://example.test/relay/eu/" + node, Fingerprint: strings.Repeat("ab", 32),
	}
}

func (w *world) ticket() store.Ticket {
	return store.Ticket{Scope: "ingress-1", Nonce: fmt.Sprint("n", w.nonce.Add(1)), ExpiresAt: w.clock.Now().Add(time.Minute)}
}

func (w *world) view(fn func(ctx context.Context, r *store.Roles) error) {
	w.t.Helper()
	w.must(w.mem.View(w.ctx, fn))
}

func (w *world) placement(tenant string) (out placement.Record) {
	w.t.Helper()
	w.view(func(ctx context.Context, r *store.Roles) error {
		p, err := r.Placements.Get(ctx, tenant)
		if err == nil {
			out = p.Record()
		}
		return err
	})
	return out
}

func (w *world) migration(id string) (out placement.MigrationRecord) {
	w.t.Helper()
	w.view(func(ctx context.Context, r *store.Roles) error {
		m, err := r.Migrations.Get(ctx, id)
		if err == nil {
			out = m.Record()
		}
		return err
	})
	return out
}

func (w *world) nodeRecord(id string) placement.NodeRecord {
	w.t.Helper()
	c, err := w.Node(w.ctx, id)
	w.must(err)
	return c.Node.Record()
}

func (w *world) lease(id string) placement.LeaseRecord {
	w.t.Helper()
	c, err := w.Node(w.ctx, id)
	w.must(err)
	return c.Lease.Record()
}

func (w *world) backup(tenant string) (out *placement.Backup) {
	w.t.Helper()
	w.view(func(ctx context.Context, r *store.Roles) (err error) {
		out, err = r.Backups.Get(ctx, tenant)
		return err
	})
	return out
}

// entries is the whole audit log, whose chain has been verified.
func (w *world) entries() (out []audit.Entry) {
	w.t.Helper()
	var head audit.Head
	w.view(func(ctx context.Context, r *store.Roles) (err error) {
		if head, err = r.Audit.Head(ctx); err != nil {
			return err
		}
		for {
			page, err := r.Audit.Range(ctx, int64(len(out)), 1000)
			if err != nil || len(page) == 0 {
				return err
			}
			out = append(out, page...)
		}
	})
	w.must(audit.Verify(head, out))
	return out
}

// lastEntry is the newest audit entry with this action.
func (w *world) lastEntry(action string) audit.Entry {
	w.t.Helper()
	for _, e := range slices.Backward(w.entries()) {
		if e.Action == action {
			return e
		}
	}
	w.t.Fatalf("there is no audit entry %s", action)
	return audit.Entry{}
}

// lapseOf lets the lease of a node run out: it goes silent while the others beat.
func (w *world) lapseOf(node string, others ...string) {
	w.t.Helper()
	w.must(w.SweepLeases(w.ctx))
	for range 6 {
		w.clock.Advance(w.Settings.Lease.CountOut() / 4)
		for _, other := range others {
			w.beat(other)
		}
		w.must(w.SweepLeases(w.ctx))
	}
	if !w.lease(node).Lapsed {
		w.t.Fatalf("the lease of node %s still runs", node)
	}
}
