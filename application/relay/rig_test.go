package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/authority"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine"
	"berth/ports/engine/enginetest"
	"berth/ports/ids/idstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is one node, n0, in a bubble of virtual time, with a network that a test can spoil.
type rig struct {
	t       *testing.T
	control *authoritytest.Control
	client  *authoritytest.Client
	clock   *simClock
	disk    *enginetest.Memory
	node    *relay.Node
	stop    context.CancelFunc
	ended   chan error
	boots   uint64
	brittle atomic.Bool           // changes of copies fail
	damage  atomic.Pointer[error] // of the prepared key, until another takes its place
	full    atomic.Bool           // no certificate is taken
	mute    atomic.Bool           // the next change of a copy is made, and said to have failed

	mu    sync.Mutex
	spoil func(method string, back bool) error
	calls map[string]int
	token string
	place string

	visitor authoritytest.Paired   // uses t0
	empty   bool                   // nobody does
	late    chan struct{}          // until it is closed the answers of Engines are held back; nil where they are not
	opens   atomic.Int64           // of Engines
	gaps    atomic.Bool            // Engines leave out the first message that is read
	buries  atomic.Pointer[func()] // called before an Engine remembers a revocation
	tune    func(*relay.Settings)
	asked   atomic.Int64                       // the most tenants that one poll asked about
	answer  atomic.Pointer[authority.Snapshot] // to every question for a snapshot; nil where the control plane answers
	drains  atomic.Bool                        // beats are answered as those of a node that is being emptied
}

// bubble runs a test in virtual time, on a node that has a join token and the tenant t0, and does not run yet.
func bubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, clock: newSimClock(1), disk: enginetest.NewMemory(), calls: map[string]int{}, place: "here"}
		r.control = authoritytest.New(newSimClock(1), terms(), terms())
		r.control.AddNode("n0", 10_000)
		r.control.AddNode("n1", 10_000)
		r.control.AddTenant("t0", "n0")
		r.visitor = r.control.Pair("t0", authorization.Owner)
		r.token = r.control.JoinToken("n0", time.Hour)
		defer func() {
			if r.node != nil {
				r.end()
			}
			pass(2 * time.Minute) // whatever still sleeps ends
		}()
		test(r)
	})
}

// start starts a process on the rig's disk.
func (r *rig) start() {
	r.t.Helper()
	r.boots++
	r.client = &authoritytest.Client{Control: r.control, Node: "n0", Way: r.way}
	settings := relay.DefaultSettings(authoritytest.SPIFFEID("n0"))
	if r.tune != nil {
		r.tune(&settings)
	}
	r.disk.Restart()
	n, err := relay.New(settings, relay.Ports{
		Clock: r.clock, IDs: idstest.New(r.boots), Log: slog.New(slog.DiscardHandler),
		Authority: r.authority(),
		Disk:      brittle{r.disk, r}, Engines: brittle{r.disk, r}, Identity: brittle{r.disk, r}, Tokens: r, Place: r.place, Devices: plainTokens{},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.client.Shows = func() [][]byte { chain, _, _ := n.Certificate(); return chain }
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	r.node, r.stop, r.ended = n, stop, ended
	visits, gone := context.WithCancel(ctx)
	go func() {
		defer gone()
		ended <- n.Run(ctx)
	}()
	if !r.empty {
		go r.visit(visits, n)
	}
}

func (r *rig) end() error {
	r.stop()
	err := <-r.ended
	r.node = nil
	return err
}

// up starts the node and waits until it may write.
func (r *rig) up() {
	r.t.Helper()
	r.start()
	r.within(10*time.Second, "the tenant may be written", func() bool { return r.write() == "" })
}

// within waits for something to come true.
func (r *rig) within(d time.Duration, what string, so func() bool) {
	r.t.Helper()
	for end := time.Now().Add(d); !so(); pass(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("it is not so within %v that %s: %v", d, what, r.node.Status().Why)
		}
	}
}

// write is the slug of why t0 may not be written; empty where it may.
func (r *rig) write() string {
	if _, err := r.node.Gate().Write("t0"); err != nil {
		return fault.SlugOf(err)
	}
	return ""
}

func (r *rig) lost() string {
	if err := r.node.Status().Identity.Lost; err != nil {
		return fault.SlugOf(err)
	}
	return ""
}

// spoiled has the network do something else with requests, and with answers, back.
func (r *rig) spoiled(how func(method string, back bool) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spoil = how
}

// cut has nothing come through any more.
func (r *rig) cut() {
	r.spoiled(func(string, bool) error { return authoritytest.Lost() })
}

func (r *rig) way(_ context.Context, method string, back bool) error {
	r.clock.moves()
	r.mu.Lock()
	how := r.spoil
	if !back {
		r.calls[method]++
	}
	r.mu.Unlock()
	if how == nil {
		return nil
	}
	return how(method, back)
}

func (r *rig) called(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[method]
}

// Token is where the operator leaves join tokens.
func (r *rig) Token(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.token, nil
}

func (r *rig) give(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.token = token
}

// only spoils one method.
func only(method string, back bool) func(string, bool) error {
	return func(m string, b bool) error {
		if m == method && b == back {
			return authoritytest.Lost()
		}
		return nil
	}
}

// brittle is a disk of which changes of copies may fail, while everything else goes on.
type brittle struct {
	*enginetest.Memory
	r *rig
}

func (b brittle) Change(ctx context.Context, tenant string, change func(*engine.Kept) error) (engine.Kept, error) {
	if b.r.brittle.Load() {
		return engine.Kept{}, engine.Away(errBroken)
	}
	kept, err := b.Memory.Change(ctx, tenant, change)
	if err == nil && b.r.mute.CompareAndSwap(true, false) {
		return engine.Kept{}, engine.Away(errBroken)
	}
	return kept, err
}

func (b brittle) Prepared(ctx context.Context) (engine.NextKey, bool, error) {
	if err := b.r.damage.Load(); err != nil {
		return engine.NextKey{}, false, *err
	}
	return b.Memory.Prepared(ctx)
}

func (b brittle) Install(ctx context.Context, c engine.Credential) error {
	if b.r.full.Load() {
		return engine.Away(errBroken)
	}
	return b.Memory.Install(ctx, c)
}

func (b brittle) Prepare(ctx context.Context, next engine.NextKey) error {
	err := b.Memory.Prepare(ctx, next)
	if err == nil {
		b.r.damage.Store(nil)
	}
	return err
}

var errBroken = errors.New("broken on purpose")

func authorityOf(c *authoritytest.Client) relay.Authority {
	return relay.Authority{
		Leases: c, Assignments: c, Authorizations: c, Migrations: c, Credentials: c, Enrolment: c, Keys: c, Revocations: c, Peers: c,
		Routes: c,
	}
}

// authority is the control plane, of which a test wants to know or to change some answers.
func (r *rig) authority() relay.Authority {
	a := authorityOf(r.client)
	a.Authorizations, a.Leases = listening{a.Authorizations, r}, leasing{a.Leases, r}
	return a
}

type listening struct {
	authority.Authorizations
	r *rig
}

func (l listening) Poll(ctx context.Context, known []authority.Known, wait time.Duration) ([]authority.Differing, error) {
	l.r.asked.Store(max(l.r.asked.Load(), int64(len(known))))
	return l.Authorizations.Poll(ctx, known, wait)
}

func (l listening) Snapshot(ctx context.Context, tenant string, generation int64) (authority.Snapshot, error) {
	out, err := l.Authorizations.Snapshot(ctx, tenant, generation)
	if other := l.r.answer.Load(); other != nil {
		return *other, nil
	}
	return out, err
}

type leasing struct {
	authority.Leases
	r *rig
}

func (l leasing) Beat(ctx context.Context, b authority.Beat) (authority.Lease, error) {
	out, err := l.Leases.Beat(ctx, b)
	if l.r.drains.Load() {
		out.Status = "draining"
	}
	return out, err
}
