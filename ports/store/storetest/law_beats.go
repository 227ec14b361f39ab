package storetest

import (
	"context"
	"errors"
	"fmt"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func beatLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a beat is kept and answered as kept", beatKept),
		promise("a beat keeps every field of the lease and nothing of the node", beatFields),
		promise("many beats at once are all kept", manyBeats),
		promise("beats of one node take effect one after another", beatsInOrder),
		promise("a beat that was answered is seen", beatsSeen),
		promise("beats and updates of one lease lose nothing", beatsAndUpdates),
	}
}

// fleet makes n registered nodes.
func (k *kit) fleet(n int) {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range n {
			lease := placement.RestoreLease(placement.LeaseRecord{
				Node: nodeName(i), BootID: "boot", StorageID: "disk", Generation: 1, Lapsed: true, Reported: placement.Boundless(),
			})
			if err := errors.Join(haveNode(ctx, r, nodeName(i)), r.Leases.Create(ctx, lease)); err != nil {
				return err
			}
		}
		return nil
	})
}

func nodeName(i int) string { return fmt.Sprintf("n%03d", i) }

// beat is a heartbeat by the domain's own rule.
func beat(sequence int64) func(*placement.Node, *placement.Lease) error {
	return func(_ *placement.Node, l *placement.Lease) error {
		return l.Beat(placement.Beat{Generation: 1, Sequence: sequence, Capacity: placement.Boundless()}, noon)
	}
}

func (k *kit) lease(node string) placement.LeaseRecord {
	k.Helper()
	var out placement.LeaseRecord
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		l, err := r.Leases.Get(ctx, node)
		if err == nil {
			out = l.Record()
		}
		return err
	})
	return out
}

func beatKept(k *kit) {
	k.fleet(2)
	got, err := k.store.Beat(k.ctx, "n000", ticket("a"), beat(7))
	k.must(err)
	record := got.Lease.Record()
	if record.Sequence != 7 || record.Epoch != 1 || record.Lapsed || got.Node.Record().ID != "n000" {
		k.Fatalf("answered %+v of %+v", record, got.Node.Record())
	}
	same(k, "the lease", k.lease("n000"), record)
	if k.lease("n001").Sequence != 0 {
		k.Fatalf("another node's lease was changed")
	}
	if _, err := k.store.Beat(k.ctx, "n000", store.Ticket{}, beat(8)); err != nil {
		k.Fatalf("a beat without a ticket: %v", err)
	}
}

func beatFields(k *kit) {
	k.fleet(1)
	want := full[placement.LeaseRecord](k.maker)
	want.Node = "n000"
	got, err := k.store.Beat(k.ctx, "n000", ticket("a"), func(n *placement.Node, l *placement.Lease) error {
		*l = *placement.RestoreLease(want)
		return addTenants(n, 5)
	})
	k.must(err)
	same(k, "the lease", k.lease("n000"), want)
	if got.Node.Record().Tenants != 0 {
		k.Fatalf("the answer holds a change of the node that is not kept")
	}
	k.tenants("n000", 0)
}

func manyBeats(k *kit) {
	const nodes, beats = 64, 4
	k.fleet(nodes)
	k.mustAll(nodes, func(i int) error {
		for s := range beats {
			id := nodeName(i)
			got, err := k.store.Beat(k.ctx, id, ticket(fmt.Sprint(id, s)), beat(int64(s+1)))
			if err != nil {
				return err
			}
			if l := got.Lease.Record(); l.Sequence != int64(s+1) || l.Node != id || got.Node.Record().ID != id {
				return fmt.Errorf("%s was answered %+v", id, l)
			}
		}
		return nil
	})
	for i := range nodes {
		if got := k.lease(nodeName(i)).Sequence; got != beats {
			k.Fatalf("%s is at %d, want %d", nodeName(i), got, beats)
		}
	}
}

// Of beats of one node with the sequences 1 to n in any order, those that were accepted grow, and the last of them is
// what is kept.
func beatsInOrder(k *kit) {
	const many = 48
	k.fleet(1)
	errs := together(many, func(i int) error {
		_, err := k.store.Beat(k.ctx, "n000", ticket(fmt.Sprint(i)), beat(int64(i+1)))
		return err
	})
	if accepted := k.count(errs, fault.Conflict, "heartbeat_sequence_stale"); accepted == 0 {
		k.Fatalf("no beat was accepted")
	}
	if errs[many-1] != nil {
		k.Fatalf("the highest sequence was refused: %v", errs[many-1])
	}
	if got := k.lease("n000").Sequence; got != many {
		k.Fatalf("sequence %d is kept, want %d", got, many)
	}
	// As many epochs as leases that lapsed: the first.
	if got := k.lease("n000").Epoch; got != 1 {
		k.Fatalf("epoch %d, want 1", got)
	}
}

func beatsSeen(k *kit) {
	k.fleet(crowd)
	k.inTurns(func(worker, round int) error {
		id, want := nodeName(worker), int64(round+1)
		if _, err := k.store.Beat(k.ctx, id, ticket(fmt.Sprint(id, round)), beat(want)); err != nil {
			return err
		}
		return k.see(func(ctx context.Context, r *store.Roles) error {
			l, err := r.Leases.Get(ctx, id)
			if err == nil && l.Record().Sequence != want {
				err = fmt.Errorf("a view after beat %d saw %d", want, l.Record().Sequence)
			}
			return err
		})
	})
}

func beatsAndUpdates(k *kit) {
	k.fleet(1)
	k.inTurns(func(worker, round int) error {
		if worker%2 == 0 {
			return k.do(func(ctx context.Context, r *store.Roles) error {
				return store.UpdateIn(ctx, r.Leases, "n000", func(l *placement.Lease) error { return use(nil, l) })
			})
		}
		_, err := k.store.Beat(k.ctx, "n000", ticket(fmt.Sprint(worker, "-", round)), use)
		return err
	})
	if got := k.lease("n000").Usage.Tenants; got != crowd*rounds {
		k.Fatalf("%d of %d changes of the lease are left", got, crowd*rounds)
	}
}

// use counts a tenant on the lease.
func use(_ *placement.Node, l *placement.Lease) error {
	record := l.Record()
	record.Usage.Tenants++
	*l = *placement.RestoreLease(record)
	return l.Lapse(l.Mark())
}
