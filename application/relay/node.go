package relay

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/authority"
	"berth/ports/clock"
	"berth/ports/engine"
	"berth/ports/ids"
	"berth/ports/tokens"
)

// Ports are what a node works with.
type Ports struct {
	Clock clock.Clock
	IDs   ids.Source
	Log   *slog.Logger

	Authority Authority
	Disk      engine.Tenants
	Engines   engine.Engines
	Identity  engine.Identity
	Tokens    engine.Tokens
	Devices   tokens.DeviceVerifier
	// Place names the data directory where it is now, so that a copy of it, or the same after the machine started anew, has
	// another name.
	Place string
	// Renewed is called when another certificate is in force, before it is used first: no connection that showed the
	// earlier one may be used again. It may be nil.
	Renewed func()
}

// Authority is the control plane in all of its roles.
type Authority struct {
	Leases         authority.Leases
	Assignments    authority.Assignments
	Authorizations authority.Authorizations
	Migrations     authority.Migrations
	Credentials    authority.Credentials
	Enrolment      authority.Enrolment
	Keys           authority.Keys
	Revocations    authority.Revocations
	Peers          authority.Peers
	Routes         authority.Routes
}

// Node is one process that is a relay node, or tries to be. Use New, and then Run once.
type Node struct {
	Ports
	settings Settings
	state    *state
	chance   chance
	counts   counts

	fence  *fence
	beats  *beats
	keeper *keeper
	queue  *queue
	news   *news
	taken  *news // snapshots that were accepted
	rooms  *rooms

	verifier verifier
	router   router
	keys     *keys  // nil where nobody says what they are
	peers    *peers // nil where nobody lists them
}

// New makes a node that serves nothing yet.
func New(s Settings, p Ports) (*Node, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	p.Log = p.Log.With("node", s.Self.Node())
	n := &Node{
		Ports: p, settings: s, state: newState(s, p.Clock), chance: chance{p.IDs}, queue: newQueue(p.Clock), news: newNews(), taken: newNews(),
	}
	n.fence = &fence{Node: n, wake: make(chan struct{}, 1)}
	n.beats = &beats{Node: n, wake: make(chan struct{}, 1)}
	n.keeper = newKeeper(n)
	n.rooms = newRooms(n)
	n.verifier, n.router = alone{}, alone{}
	n.connected()
	return n, nil
}

// Gate returns the node's gate.
func (n *Node) Gate() Gate { return Gate{n} }

// Run is the node's life, until the context ends or another process has become the node. From the moment that the
// context ends nothing is served any more; Run returns when nothing of it runs. There is no giving back of a lease: the
// control plane counts it to its end.
// Faults: Conflict node_superseded; those of ports/engine where what the node keeps can not be read at the start.
func (n *Node) Run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	stop := context.AfterFunc(ctx, func() { n.close(errStopping()) })
	defer stop()
	if err := n.restore(ctx); err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Go(func() { n.fence.run(ctx) })
	all.Go(func() { n.rooms.run(ctx) })
	all.Go(func() { n.keeper.run(ctx) })
	all.Go(func() {
		if err := n.beats.run(ctx); isSuperseded(err) {
			n.close(err)
			end(err)
		}
	})
	all.Go(func() { n.followAssignments(ctx) })
	all.Go(func() { n.pollSafely(ctx) })
	all.Go(func() { n.awaitNews(ctx) })
	if n.keys != nil {
		all.Go(func() { n.keys.run(ctx) })
	}
	if n.peers != nil {
		all.Go(func() { n.peers.run(ctx) })
	}
	all.Go(func() { n.queue.run(ctx, n.settings.Parallel, n.reconcile) })
	all.Wait()
	if err := context.Cause(ctx); isSuperseded(err) {
		return err
	}
	return nil
}

// restore reads what the node kept. Nothing of it permits anything: it says what is not accepted any more, and which
// copies there are (P8, P15).
func (n *Node) restore(ctx context.Context) error {
	fresh := false
	storage, err := n.Disk.StorageID(ctx, func() string {
		fresh = true
		return n.IDs.New("disk")
	})
	if err == nil && fresh {
		err = n.Disk.Settle(ctx, engine.Home{Place: n.Place})
	}
	if err != nil {
		return fmt.Errorf("read the name of the data directory: %w", err)
	}
	s := n.state
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boot, s.storage = n.IDs.New("boot"), storage
	err = n.Disk.All(ctx, func(k engine.Kept) error {
		s.tenants[k.Tenant] = &tenant{seen: k.Seen, copy: k.Copy, held: heldOf(k.Seen), stale: true, doubtful: k.Copy.Present}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read what is kept of tenants: %w", err)
	}
	return nil
}

// heldOf is what a node holds that only remembers how far it was told: nothing lower is accepted, nothing is permitted.
func heldOf(s engine.Seen) placement.Held {
	return placement.Held{Generation: s.Generation, Version: s.Version}
}

func (n *Node) newView(t *tenant) *authorization.View {
	return authorization.NewView(authorization.ViewConfig{
		Tenant: t.seen.Tenant, Region: n.settings.Self.Region(), Bound: n.settings.Bound, Buried: t.known.buried,
		Mark: authorization.Position{Generation: t.seen.Generation, PlacementVersion: t.seen.Version, Revision: t.known.revision},
	})
}

// pause waits, and says whether the node still runs then. It is over early where woken.
func (n *Node) pause(ctx context.Context, d time.Duration, woken <-chan struct{}) bool {
	timer := n.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-woken:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// failed is told of every answer that was not the one hoped for. It waits before the next try, and says whether there is
// one. sent is when the request was sent.
func (n *Node) failed(ctx context.Context, what string, err error, sent time.Duration, b *backoff) bool {
	if ctx.Err() != nil {
		return false
	}
	n.counts.failures.Add(1)
	n.keeper.heard(ctx, err, sent)
	wait := b.next(n.chance, err, lastRetry)
	if b.tries <= 1 || b.tries%10 == 0 {
		n.Log.WarnContext(ctx, "the control plane did not do what was asked", "what", what, "error", err, "tries", b.tries, "again_in", wait.Round(time.Millisecond))
	}
	return n.pause(ctx, wait, nil)
}
