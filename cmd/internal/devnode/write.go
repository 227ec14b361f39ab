package devnode

import (
	"context"

	"berth/domain/fault"
	"berth/domain/placement"
)

// write stands for the writes of devices: one in each tick to each tenant that the node may write to.
func (n *Node) write(ctx context.Context) {
	for n.pause(ctx, writeTick) {
		n.mu.Lock()
		var tenants []string
		for tenant := range n.held {
			tenants = append(tenants, tenant)
		}
		n.mu.Unlock()
		for _, tenant := range tenants {
			if err := n.writeOnce(tenant); err != nil && fault.KindOf(err) != fault.Unavailable {
				n.Log.ErrorContext(ctx, "a write failed", "tenant", tenant, "error", err)
			}
		}
	}
}

// writeOnce writes under the node's warrant, which is asked again before the write would be acknowledged (P8).
func (n *Node) writeOnce(tenant string) error {
	var began int64
	err := n.disk.update(tenant, func(k kept, present bool) (kept, error) {
		w := n.warrant(tenant, k.seen(present))
		if err := w.Check(n.Clock.Elapsed()); err != nil {
			return k, err
		}
		began = w.Held.Generation
		k.Data = k.Data.next()
		return k, nil
	})
	if err != nil {
		return err
	}
	k, present := n.disk.get(tenant)
	return n.warrant(tenant, k.seen(present)).Recheck(began, n.Clock.Elapsed())
}

// warrant is all that the right to write rests on, as it is now.
func (n *Node) warrant(tenant string, c placement.Copy) placement.Warrant {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := placement.Warrant{Self: n.ID, Granted: n.granted, Copy: c, Bound: bound}
	if h := n.held[tenant]; h != nil && h.status == "active" {
		w.Held = h.Held
	}
	return w
}
