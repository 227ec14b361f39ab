package trust_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"berth/application/trust"
	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
	"berth/ports/notify"
	"berth/ports/signer/signertest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

const domain = "example.test"

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	alice = audit.Actor{Kind: audit.ActorOperator, ID: "alice"}

	oldKey  = identity.IngressSecret{ID: "s1", Key: []byte(strings.Repeat("1", 32))}
	newKey  = identity.IngressSecret{ID: "s2", Key: []byte(strings.Repeat("2", 32))}
	goneKey = identity.IngressSecret{ID: "s0", Key: []byte(strings.Repeat("0", 32))}
)

// world is a control plane over a memory store and a clock that the test moves. The test plays ingress and nodes.
type world struct {
	*trust.Trust
	t        tb
	ctx      context.Context
	mem      *storetest.Memory
	writes   *counting
	clock    *clocktest.Fake
	kms      *signertest.Memory
	hints    *published
	refusals *refusals
	nonce    *atomic.Int64
}

// newWorld has the region eu and the nodes n1 and n2, each with a certificate in use.
func newWorld(t tb) *world {
	t.Helper()
	mem := storetest.NewMemory()
	w := &world{
		t: t, ctx: context.Background(), mem: mem, writes: &counting{Store: mem}, clock: clocktest.New(noon),
		kms: signertest.NewMemory(1), hints: &published{}, refusals: &refusals{}, nonce: new(atomic.Int64),
	}
	w.Trust = w.replica(1)
	w.do(func(ctx context.Context, r *store.Roles) error {
		region, err := placement.NewRegion("eu", "https://eu.example.test", noon)
		w.must(err)
		return r.Regions.Create(ctx, region)
	})
	for _, id := range []string{"n1", "n2"} {
		w.node(id)
		w.credential(id, id+"-current", identity.CredentialCurrent)
	}
	return w
}

// replica is another control plane over the same store.
func (w *world) replica(seed uint64) *trust.Trust {
	secrets, err := identity.NewIngressSecrets([]identity.IngressSecret{newKey, oldKey}, []string{goneKey.ID})
	w.must(err)
	return &trust.Trust{
		Store: w.writes, Clock: w.clock, IDs: source{idstest.New(seed), seed}, Hints: w.hints, Signer: w.kms,
		Observer: w.refusals, Settings: relaySettings(),
		Secrets: func() identity.IngressSecrets { return secrets },
	}
}

// source keeps the ids of two replicas apart.
type source struct {
	*idstest.Source
	seed uint64
}

func (s source) New(prefix string) string { return s.Source.New(fmt.Sprintf("%s_%d", prefix, s.seed)) }

// counting counts the transactions that may write.
type counting struct {
	store.Store
	n atomic.Int64
}

func (c *counting) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	c.n.Add(1)
	return c.Store.Atomically(ctx, fn)
}

// published remembers hints.
type published struct {
	mu     sync.Mutex
	topics []notify.Topic
}

func (p *published) Publish(_ context.Context, topics ...notify.Topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics = append(p.topics, topics...)
}

func (p *published) took() []notify.Topic {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.topics
	p.topics = nil
	return out
}

// refusals counts by reason.
type refusals struct {
	mu sync.Mutex
	by map[string]int
}

func (r *refusals) AssertionRefused(slug string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]int{}
	}
	r.by[slug]++
}

func (r *refusals) took() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.by
	r.by = nil
	return out
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

func (w *world) node(id string) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		node, err := placement.NewNode(id, "eu", placement.Capacity{Tenants: 100, Bytes: 1 << 40}, noon)
		w.must(err)
		w.must(node.Registered(noon))
		w.must(r.Nodes.Create(ctx, node))
		return r.Leases.Create(ctx, placement.NewLease(id))
	})
}

func (w *world) retire(id string) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		node, err := r.Nodes.Get(ctx, id)
		w.must(err)
		w.must(node.Retire(noon))
		return r.Nodes.Save(ctx, node)
	})
}

func fingerprint(name string) string { return identity.FingerprintOf([]byte(name)) }

func spiffe(node string) identity.SPIFFEID {
	id, err := identity.RelayID(domain, "eu", node)
	if err != nil {
		panic(err)
	}
	return id
}

// credential puts a certificate of a node into the store, valid for an hour around noon.
func (w *world) credential(node, name string, state identity.CredentialState, change ...func(*identity.CredentialRecord)) {
	w.t.Helper()
	record := identity.CredentialRecord{
		Node: node, SPIFFEID: spiffe(node).String(), Fingerprint: fingerprint(name), State: state, AdmittedBy: "test",
		IssuedAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(time.Hour),
	}
	for _, c := range change {
		c(&record)
	}
	w.do(func(ctx context.Context, r *store.Roles) error {
		return r.Credentials.Create(ctx, identity.RestoreCredential(record))
	})
}

func (w *world) states(node string) map[string]identity.CredentialState {
	w.t.Helper()
	all, err := w.Credentials(w.ctx, node)
	w.must(err)
	out := map[string]identity.CredentialState{}
	for _, c := range all {
		out[c.Fingerprint] = c.State
	}
	return out
}

var body = sha256.Sum256([]byte(`{"sequence":1}`))

func arrived() identity.Arrived {
	return identity.Arrived{Method: "POST", Target: "/internal/v1/nodes/n1/heartbeat", Host: "berth.example.test", BodySHA256: body}
}

// payload is a good assertion of node n1's for arrived, with a nonce of its own.
func (w *world) payload() identity.Payload {
	a := arrived()
	nonce := sha256.Sum256(fmt.Append(nil, "nonce", w.nonce.Add(1)))
	return identity.Payload{
		SPIFFEID: spiffe("n1"), Fingerprint: fingerprint("n1-current"), Method: a.Method, Target: a.Target, Host: a.Host,
		BodySHA256: a.BodySHA256, IssuedAt: w.clock.Now(), ExpiresAt: w.clock.Now().Add(15 * time.Second), Nonce: nonce[:16],
	}
}

func (w *world) seal(p identity.Payload) string {
	w.t.Helper()
	value, err := identity.Seal(newKey, p)
	w.must(err)
	return value
}

func (w *world) check(headers ...string) (identity.Caller, store.Ticket, error) {
	return w.CheckAssertion(w.ctx, trust.AssertionRequest{Headers: headers, Arrived: arrived(), Mutating: true})
}

// dump is all that this package keeps in a store.
type dump struct {
	Nodes       []placement.NodeRecord
	Credentials []identity.CredentialRecord
	Keys        []identity.SigningKeyRecord
	Tokens      []identity.OperatorTokenRecord
	Audit       audit.Head
	Writes      int64
}

func (w *world) dump() dump {
	w.t.Helper()
	var d dump
	page := store.Page{Limit: store.MaxPage}
	w.view(func(ctx context.Context, r *store.Roles) error {
		d = dump{Writes: w.writes.n.Load()}
		nodes, err := r.Nodes.Candidates(ctx, "", page)
		w.must(err)
		for _, n := range nodes {
			d.Nodes = append(d.Nodes, n.Node.Record())
			all, err := r.Credentials.OfNode(ctx, n.Node.Record().ID)
			w.must(err)
			for _, c := range all {
				d.Credentials = append(d.Credentials, c.Record())
			}
		}
		for _, purpose := range identity.KeyPurposes() {
			keys, err := r.Keys.OfPurpose(ctx, purpose)
			w.must(err)
			for _, k := range keys {
				d.Keys = append(d.Keys, k.Record())
			}
		}
		tokens, err := r.Tokens.List(ctx, page)
		w.must(err)
		for _, t := range tokens {
			d.Tokens = append(d.Tokens, t.Record())
		}
		d.Audit, err = r.Audit.Head(ctx)
		return err
	})
	return d
}

// same fails the test unless nothing changed and nothing was hinted at.
func (w *world) same(before dump, what string) {
	w.t.Helper()
	after := w.dump()
	after.Writes = before.Writes
	if !reflect.DeepEqual(before, after) {
		w.t.Fatalf("%s changed something:\n%+v\n%+v", what, before, after)
	}
	if topics := w.hints.took(); len(topics) > 0 {
		w.t.Fatalf("%s hinted at %v", what, topics)
	}
}

// untouched is same for what may not even begin a transaction that could write.
func (w *world) untouched(before dump, what string) {
	w.t.Helper()
	w.same(before, what)
	if n := w.writes.n.Load(); n != before.Writes {
		w.t.Fatalf("%s began %d transactions", what, n-before.Writes)
	}
}

// actions is what the audit log says since an entry, its chain verified.
func (w *world) actions(since int64) []string {
	w.t.Helper()
	var out []string
	w.view(func(ctx context.Context, r *store.Roles) error {
		out = nil
		head, err := r.Audit.Head(ctx)
		w.must(err)
		entries, err := r.Audit.Range(ctx, 0, store.MaxPage)
		w.must(err)
		for _, e := range entries[since:] {
			out = append(out, e.Action)
		}
		return audit.Verify(head, entries)
	})
	return out
}

func (w *world) wantActions(since int64, want ...string) {
	w.t.Helper()
	if got := w.actions(since); !slices.Equal(got, want) {
		w.t.Fatalf("the audit log says %v, want %v", got, want)
	}
}

func raw64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// relaySettings keep no keys of the delivery half, so that what tests count are a relay's; those have tests of their own.
func relaySettings() trust.Settings {
	s := trust.DefaultSettings(domain)
	s.Delivery = identity.Windows{}
	return s
}
