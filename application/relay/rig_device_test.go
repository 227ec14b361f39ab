package relay_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine"
)

// phone is a device with its connection, as a test carries it. It remembers that it was woken, and takes when it is asked to.
type phone struct {
	authoritytest.Paired
	device  relay.Device
	session *relay.Session

	mu    sync.Mutex
	woken bool
	ends  []relay.End
	over  chan struct{}
}

func phoneOf(p authoritytest.Paired) *phone {
	return &phone{Paired: p, over: make(chan struct{}), device: relay.Device{
		Tenant: p.Tenant, Principal: p.Principal, TokenID: "token", ExpiresAt: time.Now().Add(100 * 365 * 24 * time.Hour),
	}}
}

// Wake remembers that there is something to take.
func (p *phone) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = true
}

// End remembers why the session ended.
func (p *phone) End(e relay.End) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ends = append(p.ends, e); len(p.ends) == 1 {
		close(p.over)
	}
}

func (p *phone) wakes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.woken
	p.woken = false
	return was
}

// end is the reason of its end; empty while there was none, and of all where there were several.
func (p *phone) end() (reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.ends {
		reason += string(e.Reason)
	}
	return reason
}

func (p *phone) retry() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends[0].Retry
}

// enter opens the phone's session.
func (p *phone) enter(ctx context.Context, n *relay.Node) error {
	s, err := n.Enter(ctx, p.device, p)
	if err == nil {
		p.session = s
	}
	return err
}

// publishes waits for what becomes of a message.
func (p *phone) publishes(route, id, body string) (seq int64, err error) {
	done := make(chan struct{})
	p.session.Publish(relay.Publish{Handle: p.Handles[route], ID: id, Body: []byte(body)}, func(s int64, e error) {
		seq, err = s, e
		close(done)
	})
	<-done
	return seq, err
}

// takes takes all that there is.
func (p *phone) takes(tb testing.TB) (all []engine.Message) {
	tb.Helper()
	for more := true; more; {
		var part []engine.Message
		var err error
		if part, more, err = p.session.Take(context.Background(), 1<<16); err != nil {
			tb.Fatalf("take: %v", err)
		}
		all = append(all, part...)
	}
	return all
}

// pair makes a device of t0.
func (r *rig) pair(role authorization.Role) *phone { return phoneOf(r.control.Pair("t0", role)) }

// connected is a device of t0 that is connected. It knows of the device by then.
func (r *rig) connected(role authorization.Role) *phone {
	r.t.Helper()
	p := r.pair(role)
	r.within(10*time.Second, "the device is let in", func() bool { return p.enter(r.t.Context(), r.node) == nil })
	return p
}

// visit has a device use t0 all the time, as long as the process runs, so that it is open.
func (r *rig) visit(ctx context.Context, n *relay.Node) {
	for ctx.Err() == nil {
		p := phoneOf(r.visitor)
		if p.enter(ctx, n) == nil {
			select {
			case <-p.over:
			case <-ctx.Done():
			}
		}
		_ = sleep(ctx, 20*time.Millisecond)
	}
}

func lost() error { return authoritytest.Lost() }

// peerOf is a node that was there before.
func (r *rig) peerOf(node string) *authoritytest.Client {
	return &authoritytest.Client{Control: r.control, Node: node}
}

// manifest is what a migration is bound to.
func (r *rig) manifest(id string) placement.Manifest {
	m := r.control.Migration(id)
	return placement.Manifest{Root: m.ManifestRoot, LastSequence: m.LastSequence}
}

// lateEngine is an Engine whose answers a test holds back.
type lateEngine struct {
	engine.Engine
	r *rig
}

// Open opens an Engine.
func (b brittle) Open(ctx context.Context, tenant string) (engine.Engine, error) {
	b.r.opens.Add(1)
	e, err := b.Memory.Open(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return lateEngine{e, b.r}, nil
}

func (e lateEngine) Append(w engine.Write, done func(engine.Appended, error)) {
	e.Engine.Append(w, func(a engine.Appended, err error) {
		e.r.held()
		done(a, err)
	})
}

func (e lateEngine) Read(ctx context.Context, r engine.Range) ([]engine.Message, error) {
	all, err := e.Engine.Read(ctx, r)
	if e.r.gaps.Load() && len(all) > 0 {
		all = all[1:]
	}
	return all, err
}

func (e lateEngine) Bury(ctx context.Context, t engine.Tombstone) error {
	if before := e.r.buries.Load(); before != nil {
		(*before)()
	}
	return e.Engine.Bury(ctx, t)
}

func (e lateEngine) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	whole, err := e.Engine.Upload(ctx, p, from)
	e.r.held()
	return whole, err
}

// hold keeps the answers of every Engine back until it is let go: what was committed is committed.
func (r *rig) hold() (letGo func()) {
	late := make(chan struct{})
	r.mu.Lock()
	r.late = late
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.late = nil
		r.mu.Unlock()
		close(late)
	}
}

func (r *rig) held() {
	r.mu.Lock()
	late := r.late
	r.mu.Unlock()
	if late != nil {
		<-late
	}
}
