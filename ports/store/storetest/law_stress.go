package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func stressLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{promise("everything at once keeps every sum", stress)}
}

const stressNodes = 5

// stress lets tenants be placed, moved, queued and taken, nodes beat and views count, all at once. Whatever happens in
// which order, each view finds as many placements on a node as the node counts.
func stress(k *kit) {
	k.fleet(stressNodes)
	k.inTurns(func(worker, round int) error {
		rnd := rand.New(rand.NewPCG(uint64(worker), uint64(round)))
		for _, step := range []func(*rand.Rand) error{k.settle, k.move, k.countUp} {
			if err := step(rnd); err != nil {
				return err
			}
		}
		node := nodeName(worker % stressNodes)
		_, err := k.store.Beat(k.ctx, node, ticket(fmt.Sprint(worker, "-", round)), beat(int64(worker+round*crowd+1)))
		if err != nil && fault.SlugOf(err) != "heartbeat_sequence_stale" {
			return err
		}
		return nil
	})
	k.must(k.countUp(nil))
}

// settle places a tenant, or puts one that is placed into the queue, or takes one out of it.
func (k *kit) settle(rnd *rand.Rand) error {
	tenant, node := fmt.Sprint("t", rnd.IntN(40)), nodeName(rnd.IntN(stressNodes))
	return k.do(func(ctx context.Context, r *store.Roles) error {
		_, err := r.Placements.Get(ctx, tenant)
		if err == nil {
			return requeue(ctx, r, tenant)
		}
		if e := expect(err, fault.NotFound, "placement_not_found"); e != nil {
			return e
		}
		n, err := r.Nodes.Get(ctx, node)
		if err != nil {
			return err
		}
		return errors.Join(addTenants(n, 1), r.Nodes.Save(ctx, n), r.Placements.Create(ctx,
			placement.Restore(placement.Record{Tenant: tenant, Node: node, Generation: 1, Version: 1})))
	})
}

func requeue(ctx context.Context, r *store.Roles, tenant string) error {
	err := r.Queue.Add(ctx, placement.Waiting{Tenant: tenant, Region: "eu", Since: noon})
	if fault.KindOf(err) == fault.AlreadyExists {
		return r.Queue.Remove(ctx, tenant)
	}
	return err
}

// move takes a tenant from its node to another, and every third time thinks better of it.
func (k *kit) move(rnd *rand.Rand) error {
	tenant, to, regret := fmt.Sprint("t", rnd.IntN(40)), nodeName(rnd.IntN(stressNodes)), rnd.IntN(3) == 0
	err := k.do(func(ctx context.Context, r *store.Roles) error {
		p, err := r.Placements.Get(ctx, tenant)
		if err != nil {
			return err
		}
		at := p.Record()
		for node, more := range map[string]int64{at.Node: -1, to: +1} {
			if at.Node == to {
				break
			}
			if err := store.UpdateIn(ctx, r.Nodes, node, func(n *placement.Node) error { return addTenants(n, more) }); err != nil {
				return err
			}
		}
		at.Node, at.Generation = to, at.Generation+1
		if err := r.Placements.Save(ctx, placement.Restore(at)); err != nil || !regret {
			return err
		}
		return errUndo
	})
	if errors.Is(err, errUndo) || fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

func (k *kit) countUp(*rand.Rand) error {
	return k.see(func(ctx context.Context, r *store.Roles) error {
		for i := range stressNodes {
			n, err := r.Nodes.Get(ctx, nodeName(i))
			if err != nil {
				return err
			}
			held, err := r.Placements.HeldBy(ctx, nodeName(i), store.Page{Limit: 99})
			if err != nil {
				return err
			}
			if n.Record().Tenants != int64(len(held)) {
				return fmt.Errorf("%s counts %d tenants and holds %d", nodeName(i), n.Record().Tenants, len(held))
			}
		}
		return nil
	})
}
