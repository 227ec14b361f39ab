package devnode

import (
	"context"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/domain/placement"
)

// beats keeps the node lease of one registration (P9, P10).
type beats struct {
	*Node
	generation int64
	sequence   int64
}

// keep beats three times in a lease.
func (b *beats) keep(ctx context.Context, end context.CancelCauseFunc) {
	for b.pause(ctx, b.every()) {
		b.once(ctx, end)
	}
}

func (b *beats) every() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.granted.For <= 0 {
		return retry
	}
	return b.granted.For / 3
}

// once beats, and ends the node when another process has become it.
func (b *beats) once(ctx context.Context, end context.CancelCauseFunc) {
	b.sequence++
	sent := b.Clock.Elapsed() // the lease counts from here
	lease, err := b.API.Heartbeat(ctx, contract.Heartbeat{
		Generation: b.generation, Sequence: b.sequence, Usage: b.disk.usage(),
	})
	switch {
	case err == nil:
		b.grant(placement.Granted{
			Epoch: lease.LeaseEpoch, SentAt: sent, For: time.Duration(lease.LeaseMS) * time.Millisecond,
		})
	case fault.SlugOf(err) == "heartbeat_generation_stale":
		end(err)
	case ctx.Err() == nil:
		b.Log.WarnContext(ctx, "a beat was not taken", "error", err)
	}
}

// grant takes a lease. A new epoch kills every snapshot asked for before, so that all are taken anew.
func (n *Node) grant(g placement.Granted) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if g.Epoch != n.granted.Epoch {
		n.renew()
	}
	if n.granted.For == 0 {
		close(n.up)
	}
	n.granted = g
}
