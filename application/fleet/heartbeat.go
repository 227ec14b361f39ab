package fleet

import (
	"context"
	"time"

	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// HeartbeatRequest is a beat of a node.
type HeartbeatRequest struct {
	Caller     identity.Caller
	Ticket     store.Ticket
	Generation int64
	Sequence   int64
	Capacity   *placement.Capacity // the node's own limit; nil when it has none
	Usage      placement.Capacity
}

// HeartbeatAnswer grants the node lease.
type HeartbeatAnswer struct {
	Lease       time.Duration // the node counts it from when it sent the beat (P9)
	Epoch       int64         // grew if the last lease had run out: it kills every snapshot asked for before (P8)
	ServerTime  time.Time
	Status      placement.NodeStatus
	Schedulable bool
	Assignments int64 // version of the node's assignments
}

// Heartbeat takes a beat and grants the lease, in a durable commit shared with other nodes' beats (DESIGN §10).
// Faults: Invalid out_of_range; Forbidden node_retired; Conflict heartbeat_generation_stale, heartbeat_sequence_stale.
func (f *Fleet) Heartbeat(ctx context.Context, in HeartbeatRequest) (HeartbeatAnswer, error) {
	if err := authorization.Decide(authorization.OpHeartbeat, placement.RoleStranger, placement.PhaseNone); err != nil {
		return HeartbeatAnswer{}, err
	}
	beat := placement.Beat{
		Generation: in.Generation, Sequence: in.Sequence, Capacity: placement.Boundless(), Usage: in.Usage,
		Grants: f.Settings.Lease.Duration,
	}
	if in.Capacity != nil {
		beat.Capacity = *in.Capacity
	}
	now := f.Clock.Now()
	c, err := f.Store.Beat(ctx, in.Caller.Node, in.Ticket, func(n *placement.Node, l *placement.Lease) error {
		if err := refuseRetired(n); err != nil {
			return err
		}
		return l.Beat(beat, now)
	})
	if err != nil {
		return HeartbeatAnswer{}, err
	}
	node := c.Node.Record()
	return HeartbeatAnswer{
		Lease: f.Settings.Lease.Duration, Epoch: c.Lease.Record().Epoch, ServerTime: f.Clock.Now(),
		Status: node.Status, Schedulable: node.Schedulable, Assignments: node.Assignments,
	}, nil
}
