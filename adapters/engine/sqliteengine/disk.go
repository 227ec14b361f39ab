package sqliteengine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"

	"berth/domain/placement"
	"berth/domain/stream"
	"berth/ports/engine"
)

// Options are where a disk is and what a tenant may keep on it.
type Options struct {
	Dir    string        // there already, and this process's alone
	Limits stream.Limits // the zero value: stream.DefaultLimits
}

// Disk is what a node keeps, as engine.Tenants and engine.Engines. Use Open, and Close when done.
type Disk struct {
	node   *nodeDB
	dir    string // of the tenants' directories
	limits stream.Limits
	turns  chan struct{} // one for each transaction under way: with more of them each would only take longer

	waiting     atomic.Int64 // bytes that wait in all Engines
	mostWaiting int64

	mu   sync.Mutex
	busy map[string]*tenantLock
	open map[string]*Engine

	step     func(string) error // called between the steps of making and removing a copy; for tests
	maxPages int64              // of an engine.db; 0 for no bound; for tests
}

var (
	_ engine.Tenants = (*Disk)(nil)
	_ engine.Engines = (*Disk)(nil)
)

// Open opens the disk in a directory, making node.db (0600) where it is not there. What is left of copies that were being
// made or removed as an earlier process ended is removed.
// Faults: Unavailable engine_unavailable; Internal engine_damaged where node.db is another program's, or a later one's.
func Open(ctx context.Context, o Options) (*Disk, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, engine.Away(err)
	}
	if o.Limits == (stream.Limits{}) {
		o.Limits = stream.DefaultLimits()
	}
	// What fdatasync leaves out is a file's times; where the system has none, fsync does as well.
	_, _ = sqlite.Fdatasync(true)
	node, err := openNode(ctx, filepath.Join(dir, "node.db"))
	if err != nil {
		return nil, err
	}
	d := &Disk{
		node: node, dir: filepath.Join(dir, "tenants"), limits: o.Limits, turns: make(chan struct{}, turns()), mostWaiting: allWaitBytes,
		busy: map[string]*tenantLock{}, open: map[string]*Engine{}, step: func(string) error { return nil },
	}
	if err := d.settle(ctx); err != nil {
		return nil, errors.Join(err, node.Close())
	}
	return d, nil
}

// turns is how many transactions go on at a time: enough to keep the disk busy while the processors are.
func turns() int { return 4 * runtime.GOMAXPROCS(0) }

// settle brings directories and node.db together after whatever the last process was at when it ended.
func (d *Disk) settle(ctx context.Context) error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return engine.Away(err)
	}
	if err := syncDir(filepath.Dir(d.dir)); err != nil {
		return engine.Away(err)
	}
	present, err := d.sweep()
	if err != nil {
		return engine.Away(err)
	}
	if d.node.older {
		if err := d.upgrade(ctx, present); err != nil {
			return err
		}
	}
	if err := d.node.All(ctx, func(k engine.Kept) error {
		if k.Copy.Present {
			delete(present, k.Tenant)
		}
		return nil
	}); err != nil {
		return err
	}
	for tenant := range present { // made, or not removed any more, and node.db does not say so
		if _, err := d.Change(ctx, tenant, func(*engine.Kept) error { return nil }); err != nil {
			if err := d.unsure(ctx, tenant); err != nil {
				return err
			}
		}
	}
	return nil
}

// unsure has node.db say that there is a copy of which nothing is known: what it is, or why that can not be told, the next
// Change of it says. It keeps no other tenant, nor the node, from starting.
func (d *Disk) unsure(ctx context.Context, tenant string) error {
	k, _, err := d.node.get(ctx, tenant)
	if err != nil {
		return err
	}
	k.Copy, k.Sequence = placement.Copy{Present: true}, 0
	_, err = d.node.put(ctx, k)
	return err
}

// upgrade gives every copy of a disk of before there were directories its own, where it has none from an earlier try.
func (d *Disk) upgrade(ctx context.Context, present map[string]bool) error {
	if err := d.node.All(ctx, func(k engine.Kept) error {
		if !k.Copy.Present || present[k.Tenant] {
			return nil
		}
		return of(k.Tenant, d.dir, d.create(k))
	}); err != nil {
		return err
	}
	return d.node.upgraded(ctx)
}

// Close closes every open Engine, and lets go of the disk.
func (d *Disk) Close() error {
	d.mu.Lock()
	var open []*Engine
	for _, e := range d.open {
		open = append(open, e)
	}
	d.mu.Unlock()
	var errs []error
	for _, e := range open {
		errs = append(errs, e.Close())
	}
	return errors.Join(append(errs, d.node.Close())...)
}

// StorageID returns the name of the storage, and gives it one where it has none.
func (d *Disk) StorageID(ctx context.Context, fresh func() string) (string, error) {
	return d.node.StorageID(ctx, fresh)
}

// Home returns where the storage was used last.
func (d *Disk) Home(ctx context.Context) (engine.Home, error) { return d.node.Home(ctx) }

// Settle remembers where the storage is used, which has a name by then.
func (d *Disk) Settle(ctx context.Context, h engine.Home) error { return d.node.Settle(ctx, h) }

// All calls each with every tenant, as node.db mirrors it.
func (d *Disk) All(ctx context.Context, each func(engine.Kept) error) error {
	return d.node.All(ctx, each)
}

// Saw raises what is remembered of tenants.
func (d *Disk) Saw(ctx context.Context, seen []engine.Seen) error { return d.node.Saw(ctx, seen) }

// tenantLock orders what opens, closes, changes and removes one tenant's copy.
type tenantLock struct {
	held    chan struct{}
	waiting int
}

// lock holds a tenant until the function returned is called.
func (d *Disk) lock(ctx context.Context, tenant string) (unlock func(), err error) {
	d.mu.Lock()
	l := d.busy[tenant]
	if l == nil {
		l = &tenantLock{held: make(chan struct{}, 1)}
		d.busy[tenant] = l
	}
	l.waiting++
	d.mu.Unlock()
	leave := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			delete(d.busy, tenant)
		}
	}
	if ctx.Err() != nil {
		leave()
		return nil, engine.Ended(context.Cause(ctx))
	}
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, engine.Ended(context.Cause(ctx))
	}
}
