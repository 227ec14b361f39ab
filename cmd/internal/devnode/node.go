// Package devnode plays relay nodes within berthd dev, until there are real ones: it keeps the nodes' side of the internal
// API (register, beat, assignments, snapshots, polls, the steps of a migration) over the real listener, and honours
// lease, snapshot and fence before each write. What it writes stands for a tenant's data: a number that grows and the
// hash of all that was written before.
package devnode

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/clock"
	"berth/ports/ids"
)

// Options make a node.
type Options struct {
	ID      string
	Version string
	API     apiclient.Node
	Clock   clock.Clock
	IDs     ids.Source
	Log     *slog.Logger
	Dir     string        // of this node's data
	Vault   *Vault        // shared by all nodes
	Pace    time.Duration // a pause before each step of a migration, so that a person can watch it
}

// Node is one node. Use Open, then Run.
type Node struct {
	Options
	disk *disk

	mu      sync.Mutex
	granted placement.Granted
	held    map[string]*holding // tenants that this node was last told to hold
	stop    context.CancelFunc  // ends the poll that waits now, since it asks about too little
	up      chan struct{}       // closed with the first lease
}

const (
	retry     = time.Second
	longPoll  = 25 * time.Second
	bound     = 65 * time.Second // the oldest that a snapshot may be (A6)
	refresh   = 30 * time.Second // how often a snapshot is taken anew
	writeTick = 2 * time.Second
)

// Open reads the node's data.
func Open(o Options) (*Node, error) {
	d, err := openDisk(filepath.Clean(o.Dir), o.IDs)
	if err != nil {
		return nil, err
	}
	o.Log = o.Log.With("node", o.ID)
	return &Node{Options: o, disk: d, held: map[string]*holding{}, up: make(chan struct{})}, nil
}

// Run is the node's life until the context ends. It returns an error only when another process has become the node.
func (n *Node) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b, ok := n.register(ctx)
	if !ok {
		return nil
	}
	b.once(ctx, cancel)
	var all sync.WaitGroup
	all.Go(func() { b.keep(ctx, cancel) })
	all.Go(func() { n.followAssignments(ctx) })
	all.Go(func() { n.followAuthorization(ctx) })
	all.Go(func() { n.write(ctx) })
	all.Wait()
	if cause := context.Cause(ctx); fault.SlugOf(cause) == "heartbeat_generation_stale" {
		return fmt.Errorf("node %s: %w", n.ID, cause)
	}
	return nil
}

// Up is closed when the node has its first lease.
func (n *Node) Up() <-chan struct{} { return n.up }

// register asks until it is answered.
func (n *Node) register(ctx context.Context) (*beats, bool) {
	in := contract.Register{BootID: n.IDs.New("boot"), StorageID: n.disk.storageID(), Version: n.Version}
	for {
		out, err := n.API.Register(ctx, in)
		if err == nil {
			n.Log.InfoContext(ctx, "registered", "generation", out.Generation)
			return &beats{Node: n, generation: out.Generation}, true
		}
		if !n.pauseAfter(ctx, "register", err) {
			return nil, false
		}
	}
}

// pauseAfter waits before the next try, and says whether there is one.
func (n *Node) pauseAfter(ctx context.Context, what string, err error) bool {
	if ctx.Err() == nil {
		n.Log.WarnContext(ctx, "the control plane did not do what was asked", "what", what, "error", err)
	}
	wait := retry
	if f, ok := fault.As(err); ok {
		wait = max(wait, f.RetryAfter)
	}
	return n.pause(ctx, wait)
}

func (n *Node) pause(ctx context.Context, d time.Duration) bool {
	timer := n.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
