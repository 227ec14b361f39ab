package relay

import (
	"context"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/authority"
	"berth/ports/engine"
)

// beats keeps the node lease of this process (P9, P10).
type beats struct {
	*Node
	wake  chan struct{} // a beat is due at once
	tries backoff
}

// rouse has the node beat at once.
func (b *beats) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// run registers and then beats until the context ends, or another process is the node: Conflict node_superseded.
func (b *beats) run(ctx context.Context) error {
	if !b.register(ctx) {
		return nil
	}
	for b.registered(ctx) {
		wait, err := b.once(ctx)
		if err != nil || !b.pause(ctx, wait, b.wake) {
			return err
		}
	}
	return nil
}

// register asks until it is answered. A lost answer is asked for again with the same boot id, and is then the same.
func (b *beats) register(ctx context.Context) bool {
	s := b.state
	s.mu.RLock()
	in := placement.Registration{
		BootID: s.boot, StorageID: s.storage, Version: b.settings.Version, Advertise: b.settings.Advertise,
	}
	s.mu.RUnlock()
	var tries backoff
	for b.identified(ctx) {
		sent := b.Clock.Elapsed()
		generation, err := b.ask(ctx, func(ctx context.Context) (int64, error) { return b.Authority.Leases.Register(ctx, in) })
		if err == nil {
			err = b.settle(ctx, generation)
		}
		s.mu.Lock()
		if s.refused = err; err == nil {
			s.generation, s.registered = generation, b.Clock.Elapsed()
		}
		s.mu.Unlock()
		if err == nil {
			b.Log.InfoContext(ctx, "registered", "generation", generation, "boot_id", in.BootID, "storage_id", in.StorageID)
			b.news.tell()
			return true
		}
		if !b.failed(ctx, "register", err, sent, &tries) {
			return false
		}
	}
	return false
}

// settle finds out whether another process can hold a lease of this node: one on a copy of the disk, which was used when
// this one was not, or is the one that this was copied from. Then a lease is waited out before anything is served.
func (b *beats) settle(ctx context.Context, generation int64) error {
	home, err := b.Disk.Home(ctx)
	if err != nil {
		return err
	}
	if home.Follows(b.Place, generation) {
		return b.Disk.Settle(ctx, engine.Home{Place: b.Place, Generation: generation})
	}
	b.state.mu.Lock()
	b.state.strange = true
	b.state.mu.Unlock()
	b.Log.WarnContext(ctx, "the data directory is not where it was used last, or was used elsewhere since: a lease of before is waited out",
		"generation", generation, "last_generation", home.Generation)
	return nil
}

// outlive ends that wait.
func (b *beats) outlive(ctx context.Context) {
	s := b.state
	s.mu.RLock()
	over := s.strange && s.granted.Outlives(s.registered, s.clock.Elapsed())
	home := engine.Home{Place: b.Place, Generation: s.generation}
	s.mu.RUnlock()
	if !over {
		return
	}
	if err := b.Disk.Settle(ctx, home); err != nil {
		b.Log.WarnContext(ctx, "the disk does not let it be noted where it is used", "error", err)
		return
	}
	s.mu.Lock()
	s.strange = false
	s.mu.Unlock()
	b.Log.InfoContext(ctx, "the lease of before is over")
	b.renewAll()
}

func (b *beats) ask(ctx context.Context, call func(context.Context) (int64, error)) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return call(ctx)
}

const (
	requestTimeout = 5 * time.Second
	beatsInLease   = 3
)

// once beats, and says when the next beat is due.
func (b *beats) once(ctx context.Context) (wait time.Duration, err error) {
	s := b.state
	s.mu.Lock()
	s.sequence++
	beat := authority.Beat{Generation: s.generation, Sequence: s.sequence, Capacity: b.settings.Capacity, Usage: s.usage()}
	every := s.granted.For / beatsInLease
	sent := s.read() // the lease counts from here (P9)
	s.mu.Unlock()
	timed, cancel := context.WithTimeout(ctx, b.patience(every))
	lease, err := b.Authority.Leases.Beat(timed, beat)
	cancel()
	if err == nil {
		b.tries = backoff{}
		b.grant(ctx, lease, sent)
		return max(firstRetry, b.chance.within(lease.For/beatsInLease)-(b.Clock.Elapsed()-sent.Elapsed)), nil
	}
	return b.missed(ctx, err, sent.Elapsed, every)
}

// patience keeps a connection that hangs from costing more than one beat of the lease.
func (b *beats) patience(every time.Duration) time.Duration {
	if every <= 0 {
		return requestTimeout
	}
	return max(every, 500*time.Millisecond)
}

func (b *beats) missed(ctx context.Context, err error, sent, every time.Duration) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, nil //nolint:nilerr // the node stops, and the answer does not matter any more
	}
	b.counts.failures.Add(1)
	b.keeper.heard(ctx, err, sent)
	b.state.mu.Lock()
	if b.state.refused = err; b.keeper.doubted.Load() {
		b.state.refused = lostBy(err)
	}
	b.state.mu.Unlock()
	switch fault.SlugOf(err) {
	case "heartbeat_generation_stale":
		return 0, b.superseded(ctx, err)
	case "heartbeat_sequence_stale":
		// Nobody but a copy of this process, as of a cloned machine, beats by its generation, unless somebody in between sent
		// a beat twice that was given up.
		if b.tries.tries == 0 {
			return 0, b.superseded(ctx, err)
		}
		return b.tries.next(b.chance, nil, time.Second), nil
	}
	most := lastRetry
	if every > 0 {
		most = every
	}
	wait := b.tries.next(b.chance, err, most)
	b.Log.WarnContext(ctx, "a beat was not taken", "error", err, "again_in", wait.Round(time.Millisecond))
	return wait, nil
}

// superseded gives the storage no home, so that the next process on it waits until the other's lease is over.
func (b *beats) superseded(ctx context.Context, err error) error {
	out := errSuperseded(err)
	b.close(out)
	b.Log.ErrorContext(ctx, "another process is this node by now: nothing is served any more", "error", err)
	if err := b.Disk.Settle(ctx, engine.Home{}); err != nil {
		b.Log.WarnContext(ctx, "the disk does not let it be noted that it is used elsewhere", "error", err)
	}
	return out
}

// grant takes a lease. One of another epoch kills every snapshot that was asked for before (P8).
func (b *beats) grant(ctx context.Context, lease authority.Lease, sent placement.Clocks) {
	s := b.state
	next := placement.Granted{Epoch: lease.Epoch, SentAt: sent.Elapsed, For: lease.For}
	s.mu.Lock()
	_, jumped := s.watch.Jump(s.read())
	if jumped || !s.watch.Trusts(sent.Elapsed) || !s.granted.Accepts(next) {
		s.mu.Unlock()
		b.counts.older.Add(1)
		b.fence.rouse()
		return
	}
	anew := next.Epoch != s.granted.Epoch
	s.granted, s.refused, s.status = next, nil, lease.Status
	s.watch.Believe(sent)
	alive := s.granted.Alive(s.read().Elapsed)
	gained := alive && !s.serving
	s.serving = alive
	s.mu.Unlock()
	b.counts.beats.Add(1)
	b.keeper.doubted.Store(false)
	b.keeper.serverTime(ctx, lease.ServerTime, sent)
	if gained {
		b.Log.InfoContext(ctx, "the lease is granted", "for", lease.For, "epoch", lease.Epoch)
	}
	if anew {
		b.renewAll()
	}
	b.outlive(ctx)
	b.fence.rouse()
}

// usage is what the node's copies take. The caller holds the lock.
func (s *state) usage() placement.Capacity {
	var used placement.Capacity
	for _, t := range s.tenants {
		if t.copy.Present {
			used.Tenants++
		}
	}
	return used
}

// renewAll has every tenant looked at, as nothing that was known of them holds any more.
func (n *Node) renewAll() {
	n.state.mu.Lock()
	var all []string
	for id, t := range n.state.tenants {
		if t.told != nil {
			t.stale = true
			all = append(all, id)
		}
	}
	n.state.mu.Unlock()
	for _, id := range all {
		n.queue.add(id, 0)
	}
}
