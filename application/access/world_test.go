package access_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"berth/application/access"
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
	"berth/ports/tokens/tokenstest"
)

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

const audience = "https://api.example.test/v1/devices/token"

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	alice = audit.Actor{Kind: audit.ActorOperator, ID: "alice"}
)

// world is a control plane over a memory store and a clock that the test moves. The test plays devices and nodes.
type world struct {
	*access.Access
	t      tb
	ctx    context.Context
	mem    *storetest.Memory
	clock  *clocktest.Fake
	hints  *notifytest.Fake
	fake   *tokenstest.Fake
	bearer *bearer
	nonce  *atomic.Int64
}

// newWorld has the regions eu and us, and the nodes a and b of eu, which are online.
func newWorld(t tb) *world {
	t.Helper()
	w := &world{
		t: t, ctx: context.Background(), mem: storetest.NewMemory(), clock: clocktest.New(noon), hints: notifytest.NewFake(),
		fake: &tokenstest.Fake{}, bearer: &bearer{}, nonce: new(atomic.Int64),
	}
	w.Access = w.replica(1)
	w.do(func(ctx context.Context, r *store.Roles) error {
		for _, id := range []string{"eu", "us"} {
			region, err := placement.NewRegion(id, "https://"+id+".example.test:8443", noon)
			w.must(err)
			w.must(r.Regions.Create(ctx, region))
		}
		return nil
	})
	w.node("a")
	w.node("b")
	w.signingKey("key-1")
	return w
}

// replica is another control plane over the same store.
func (w *world) replica(seed uint64) *access.Access {
	return &access.Access{
		Store: w.mem, Clock: w.clock, IDs: source{idstest.New(seed), seed}, Hints: w.hints, Placer: placer{},
		Tokens:   access.TokenPorts{Issuer: w.fake, Verifier: w.bearer, Assertions: w.fake},
		Settings: access.DefaultSettings(audience),
	}
}

// source keeps the ids of two replicas apart.
type source struct {
	*idstest.Source
	seed uint64
}

func (s source) New(prefix string) string { return s.Source.New(fmt.Sprintf("%s_%d", prefix, s.seed)) }

// housed is a world with the tenant acme on node a.
func housed(t tb) *world {
	t.Helper()
	w := newWorld(t)
	_, err := w.CreateTenant(w.ctx, access.CreateTenantRequest{Actor: alice, ID: "acme", HomeRegion: "eu"})
	w.must(err)
	w.hints.Took()
	return w
}

// placer puts a tenant on the first node that takes it.
type placer struct{}

func (placer) Place(ctx context.Context, r *store.Roles, tenant, region string, now time.Time) (*placement.Placement, error) {
	all, err := r.Nodes.Candidates(ctx, region, store.Page{Limit: store.MaxPage})
	if err != nil {
		return nil, err
	}
	best := placement.Choose(region, all, "")
	if best == nil {
		return nil, r.Queue.Add(ctx, placement.Enqueue(tenant, region, now))
	}
	p := placement.First(tenant, best.Node, now)
	if err := r.Placements.Create(ctx, p); err != nil {
		return nil, err
	}
	return p, r.Nodes.Save(ctx, best.Node)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("unexpected: %v", err)
	}
}

// refused fails the test unless err is the fault with this kind and slug.
func (w *world) refused(err error, kind fault.Kind, slug string) {
	w.t.Helper()
	if err == nil || fault.KindOf(err) != kind || fault.SlugOf(err) != slug {
		w.t.Fatalf("got %v, want a refusal %s %s", err, kind, slug)
	}
}

func (w *world) do(fn func(ctx context.Context, r *store.Roles) error) {
	w.t.Helper()
	w.must(w.mem.Atomically(w.ctx, fn))
}

func (w *world) view(fn func(ctx context.Context, r *store.Roles) error) {
	w.t.Helper()
	w.must(w.mem.View(w.ctx, fn))
}

// node makes a node of eu that registered and beat once.
func (w *world) node(id string) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		node, err := placement.NewNode(id, "eu", placement.Capacity{Tenants: 100, Bytes: 1 << 40}, noon)
		w.must(err)
		lease := placement.NewLease(id)
		generation, err := lease.Register(placement.Registration{BootID: "boot", StorageID: "disk-" + id}, noon)
		w.must(err)
		w.must(node.Registered(noon))
		w.must(lease.Beat(placement.Beat{Generation: generation, Sequence: 1, Capacity: placement.Boundless()}, noon))
		w.must(r.Nodes.Create(ctx, node))
		return r.Leases.Create(ctx, lease)
	})
}

// signingKey puts an active key for device tokens into the store.
func (w *world) signingKey(kid string) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		return r.Keys.Create(ctx, identity.RestoreSigningKey(identity.SigningKeyRecord{
			KID: kid, Purpose: identity.KeyForDeviceTokens, PublicKey: make([]byte, 32), Ref: "memory:" + kid,
			State: identity.KeyActive, NotBefore: noon.Add(-time.Hour), SignUntil: noon.Add(24 * time.Hour),
			VerifyUntil: noon.Add(25 * time.Hour), CreatedAt: noon.Add(-time.Hour),
		}))
	})
}

// moves are the placements of acme in each phase of a move from a to b; the generation grows at the switch.
func (w *world) moves(phase placement.Phase) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		p, err := r.Placements.Get(ctx, "acme")
		w.must(err)
		next := p.Record()
		next.Node, next.Migration, next.Source, next.Target = "a", "mig_1", "a", "b"
		next.Version++
		switch phase {
		case placement.PhaseActive:
			next.Migration, next.Source, next.Target, next.State = "", "", "", placement.Active
		case placement.PhasePreparing:
			next.State = placement.Active
		case placement.PhaseQuiescing:
			next.State = placement.Quiescing
		case placement.PhaseCopying:
			next.State = placement.Copying
		case placement.PhaseSwitching:
			next.State = placement.Switching
		case placement.PhaseDraining:
			next.State, next.Node = placement.Draining, "b"
			next.Generation++
		}
		return r.Placements.Save(ctx, placement.Restore(next))
	})
}

func (w *world) placement() placement.Record {
	w.t.Helper()
	var out placement.Record
	w.view(func(ctx context.Context, r *store.Roles) error {
		p, err := r.Placements.Get(ctx, "acme")
		if err == nil {
			out = p.Record()
		}
		return err
	})
	return out
}

func (w *world) tenant() authorization.TenantRecord {
	w.t.Helper()
	view, err := w.Tenant(w.ctx, "acme")
	w.must(err)
	return view.Tenant
}

func (w *world) code(role authorization.Role) string {
	w.t.Helper()
	out, err := w.PairingCode(w.ctx, access.PairingCodeRequest{Actor: alice, Tenant: "acme", Role: role})
	w.must(err)
	return out.Code
}

// pair admits the device with this number to acme.
func (w *world) pair(n uint64, role authorization.Role) access.DeviceAnswer {
	w.t.Helper()
	out, err := w.RegisterDevice(w.ctx, registration(w.code(role), n))
	w.must(err)
	return out
}

func registration(code string, n uint64) access.RegisterDeviceRequest {
	return access.RegisterDeviceRequest{
		PairingCode: code, Name: fmt.Sprint("phone ", n), Kind: authorization.Phone,
		PublicKey: tokenstest.NewDevice(n).PublicKey(), Source: "192.0.2.7",
	}
}

func (w *world) route(id string) {
	w.t.Helper()
	_, err := w.CreateRoute(w.ctx, access.CreateRouteRequest{Actor: alice, Tenant: "acme", ID: id})
	w.must(err)
}

func caller(node string) identity.Caller {
	return identity.Caller{
		Node: node, Region: "eu", SPIFFEID: "spiffe://example.test/relay/eu/" + node, Fingerprint: strings.Repeat("ab", 32),
	}
}

func (w *world) ticket() store.Ticket {
	return store.Ticket{Scope: "ingress-1", Nonce: fmt.Sprint("n", w.nonce.Add(1)), ExpiresAt: noon.Add(time.Minute)}
}

// revoke is asked by node a at the present generation.
func (w *world) revoke(principal, by string) (access.RevokedAnswer, error) {
	return w.RevokeByNode(w.ctx, access.RevokeByNodeRequest{
		Caller: caller("a"), Ticket: w.ticket(), Tenant: "acme", Principal: principal, AskedBy: by,
		Generation: w.placement().Generation,
	})
}

func (w *world) snapshot(node string) authorization.Snapshot {
	w.t.Helper()
	out, err := w.Snapshot(w.ctx, access.SnapshotRequest{
		Caller: caller(node), Tenant: "acme", Generation: w.placement().Generation,
	})
	w.must(err)
	return out.Snapshot
}

// entries is the audit log, whose chain has been verified.
func (w *world) entries() (out []audit.Entry) {
	w.t.Helper()
	w.view(func(ctx context.Context, r *store.Roles) error {
		head, err := r.Audit.Head(ctx)
		if err != nil {
			return err
		}
		if out, err = r.Audit.Range(ctx, 0, store.MaxPage); err != nil {
			return err
		}
		return audit.Verify(head, out)
	})
	return out
}

// lastEntry is the newest audit entry, which must have this action.
func (w *world) lastEntry(action string) audit.Entry {
	w.t.Helper()
	all := w.entries()
	if len(all) == 0 || all[len(all)-1].Action != action {
		w.t.Fatalf("the audit log does not end with %s: %+v", action, all)
	}
	return all[len(all)-1]
}
