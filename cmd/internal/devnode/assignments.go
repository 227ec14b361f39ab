package devnode

import (
	"context"
	"fmt"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// followAssignments does what the node is told, as soon as it is told. What could not be done is tried again.
func (n *Node) followAssignments(ctx context.Context) {
	known := int64(0)
	for ctx.Err() == nil {
		all, changed, err := n.API.Assignments(ctx, known, longPoll)
		switch {
		case err != nil:
			known = 0
			n.pauseAfter(ctx, "assignments", err)
		case changed:
			known = all.Version
			if err := n.apply(ctx, all); err != nil {
				known = 0
				n.pauseAfter(ctx, "a step", err)
			}
		}
	}
}

// apply takes one list of assignments as a whole: what is not in it is held no more. Its copy stays on the disk, where
// its stamp keeps it from ever being served.
func (n *Node) apply(ctx context.Context, all contract.Assignments) error {
	told := map[string]bool{}
	for _, a := range all.Placements {
		told[a.Tenant] = true
	}
	n.mu.Lock()
	for tenant := range n.held {
		if !told[tenant] {
			delete(n.held, tenant)
		}
	}
	n.mu.Unlock()
	var first error
	for _, a := range all.Placements {
		if err := n.step(ctx, a); err != nil && first == nil {
			first = fmt.Errorf("tenant %s, %s while %s: %w", a.Tenant, a.Role, a.State, err)
		}
	}
	return first
}

// step is what an assignment asks for, by the node's role and the placement's state.
func (n *Node) step(ctx context.Context, a contract.Assignment) error {
	phase := a.State
	if a.Migration != nil {
		phase = a.Migration.State
	}
	switch a.Role + " " + phase {
	case "owner active":
		return n.hold(ctx, a)
	case "source preparing":
		if err := n.hold(ctx, a); err != nil {
			return err
		}
		return n.prepared(ctx, a)
	case "source quiescing":
		return n.quiesce(ctx, a)
	case "source draining":
		return n.drain(ctx, a)
	case "target preparing":
		return n.prepared(ctx, a)
	case "target copying":
		return n.copy(ctx, a)
	case "target draining":
		return n.hold(ctx, a)
	}
	return nil // it is another's turn
}

// watched makes a step visible to a person who watches the migration, and reports it.
func (n *Node) watched(ctx context.Context, a contract.Assignment, step string, report func() error) error {
	if n.Pace > 0 && !n.pause(ctx, n.Pace) {
		return ctx.Err()
	}
	err := report()
	// The migration has gone on or has ended, and the next assignments say how.
	if kind := fault.KindOf(err); err != nil && (kind == fault.Conflict || kind == fault.NotFound) {
		n.Log.InfoContext(ctx, "a step was not wanted any more", "tenant", a.Tenant, "step", step, "slug", fault.SlugOf(err))
		return nil
	}
	if err == nil {
		n.Log.InfoContext(ctx, "migration step done", "tenant", a.Tenant, "migration", a.Migration.ID, "step", step)
	}
	return err
}

func (n *Node) prepared(ctx context.Context, a contract.Assignment) error {
	k, _ := n.disk.get(a.Tenant)
	return n.watched(ctx, a, "prepared", func() error {
		return n.API.Prepared(ctx, a.Migration.ID, contract.Prepared{Generation: a.Generation, BaseSequence: k.Data.Sequence})
	})
}

// quiesce fences the copy, so that no write commits after it, and only then says what is in it (P3).
func (n *Node) quiesce(ctx context.Context, a contract.Assignment) error {
	var d data
	err := n.disk.update(a.Tenant, func(k kept, present bool) (kept, error) {
		if !present && a.Generation == 1 { // the migration began before this node had held the tenant for a moment
			k, present = kept{Stamp: 1}, true
		}
		if !present || k.Stamp != a.Generation {
			return k, fmt.Errorf("there is no copy of generation %d here", a.Generation)
		}
		d = k.Data
		k.Fenced, k.FenceVersion = true, max(k.FenceVersion, a.PlacementVersion)
		return k, nil
	})
	if err != nil {
		return err
	}
	root := d.root(a.Tenant, a.Generation)
	if err := n.Vault.put(root, left{a.Generation, d}); err != nil {
		return err
	}
	return n.watched(ctx, a, "quiesced", func() error {
		return n.API.Quiesced(ctx, a.Migration.ID, contract.Quiesced{
			Generation: a.Generation, LastSequence: d.Sequence, ManifestRoot: root,
		})
	})
}

// copy installs what the source left, verified, for the generation after the switch (P4, P16).
func (n *Node) copy(ctx context.Context, a contract.Assignment) error {
	root := a.Migration.ManifestRoot
	d, err := n.Vault.take(a.Tenant, root)
	if err != nil {
		return err
	}
	err = n.disk.update(a.Tenant, func(kept, bool) (kept, error) {
		return kept{Stamp: a.Generation + 1, Data: d}, nil
	})
	if err != nil {
		return err
	}
	return n.watched(ctx, a, "copied", func() error {
		return n.API.Copied(ctx, a.Migration.ID, contract.Copied{
			Generation: a.Generation, LastSequence: d.Sequence, ManifestRoot: root,
		})
	})
}

// drain lets go of the tenant; there is no connection to close.
func (n *Node) drain(ctx context.Context, a contract.Assignment) error {
	n.letGo(a.Tenant)
	return n.watched(ctx, a, "drained", func() error {
		return n.API.Drained(ctx, a.Migration.ID, contract.Drained{Generation: a.Generation})
	})
}
