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

func beatFaultLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a refused beat undoes its own part only", refusedBeatsAlone),
		promise("a replayed beat is refused and changes nothing", beatReplayed),
		promise("one ticket among many beats counts once", beatTicketOnce),
		promise("a refused beat leaves its ticket unspent", refusedBeatsKeepTickets),
		promise("a beat of an unknown node is NotFound and spends nothing", beatUnknown),
		promise("a beat that can not be stored is refused alone", beatUnstorable),
		promise("a panic of one beat is its caller's", beatPanics),
		promise("a ticket that lacks a part is refused", beatTicketMalformed),
	}
}

func refusedBeatsAlone(k *kit) {
	const nodes = 48
	k.fleet(nodes)
	mine := fault.New(fault.Conflict, "mine", "refused by the caller's own rule")
	for round := range 3 {
		errs := together(nodes, func(i int) error {
			_, err := k.store.Beat(k.ctx, nodeName(i), ticket(fmt.Sprint(i, "-", round)), func(n *placement.Node, l *placement.Lease) error {
				err := beat(int64(round+1))(n, l)
				if i%5 == 0 {
					return mine
				}
				return err
			})
			return err
		})
		if got := k.count(errs, fault.Conflict, "mine"); got != nodes-(nodes+4)/5 {
			k.Fatalf("%d beats were accepted", got)
		}
		for i := range nodes {
			want := int64(round + 1)
			if i%5 == 0 {
				want = 0
			}
			if got := k.lease(nodeName(i)).Sequence; got != want {
				k.Fatalf("node %d is at %d, want %d", i, got, want)
			}
		}
	}
}

func beatReplayed(k *kit) {
	k.fleet(2)
	k.must(second(k.store.Beat(k.ctx, "n000", ticket("a"), beat(1))))
	// The same request again is refused for its ticket, not for its sequence; so is one with another content.
	for _, again := range []struct {
		node     string
		sequence int64
	}{{"n000", 1}, {"n000", 2}, {"n001", 1}} {
		_, err := k.store.Beat(k.ctx, again.node, ticket("a"), beat(again.sequence))
		k.refused("a replay", err, fault.Unauthenticated, "assertion_replayed")
	}
	if k.lease("n000").Sequence != 1 || k.lease("n001").Sequence != 0 {
		k.Fatalf("a replay changed a lease")
	}
	err := k.do(func(ctx context.Context, r *store.Roles) error { return r.Nonces.Spend(ctx, ticket("a")) })
	k.refused("a spend after the beat", err, fault.Unauthenticated, "assertion_replayed")
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Nonces.Spend(ctx, ticket("b")) })
	_, err = k.store.Beat(k.ctx, "n001", ticket("b"), beat(1))
	k.refused("a beat after the spend", err, fault.Unauthenticated, "assertion_replayed")
}

func beatTicketOnce(k *kit) {
	const many = 32
	k.fleet(many)
	for round := range 4 {
		errs := together(many, func(i int) error {
			_, err := k.store.Beat(k.ctx, nodeName(i), ticket(fmt.Sprint(round)), beat(int64(round+1)))
			return err
		})
		if got := k.count(errs, fault.Unauthenticated, "assertion_replayed"); got != 1 {
			k.Fatalf("one ticket counted %d times", got)
		}
		for i, err := range errs {
			if kept := k.lease(nodeName(i)).Sequence == int64(round+1); kept != (err == nil) {
				k.Fatalf("node %d: kept %t, answered %v", i, kept, err)
			}
		}
	}
}

func refusedBeatsKeepTickets(k *kit) {
	k.fleet(1)
	mine := errors.New("mine")
	_, err := k.store.Beat(k.ctx, "n000", ticket("a"), func(*placement.Node, *placement.Lease) error { return mine })
	if !errors.Is(err, mine) {
		k.Fatalf("got %v", err)
	}
	k.must(second(k.store.Beat(k.ctx, "n000", ticket("a"), beat(1))))
}

func beatUnknown(k *kit) {
	k.fleet(1)
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return haveNode(ctx, r, "without-lease") })
	for _, node := range []string{"nobody", "without-lease"} {
		_, err := k.store.Beat(k.ctx, node, ticket("a"), beat(1))
		k.refused(node, err, fault.NotFound, "node_not_found")
	}
	k.must(second(k.store.Beat(k.ctx, "n000", ticket("a"), beat(1))))
}

// Among beats that share a commit some hold what no store takes.
func beatUnstorable(k *kit) {
	const many = 24
	k.fleet(many)
	errs := together(many, func(i int) error {
		node, t := nodeName(i), ticket(fmt.Sprint(i))
		switch i {
		case 3:
			t.Nonce = "nul\x00"
		case 7:
			node = "nul\x00"
		}
		_, err := k.store.Beat(k.ctx, node, t, func(n *placement.Node, l *placement.Lease) error {
			if i == 11 {
				record := l.Record()
				record.Advertise = "broken\xff"
				*l = *placement.RestoreLease(record)
			}
			return beat(1)(n, l)
		})
		return err
	})
	if got := k.count(errs, fault.Invalid, "invalid_text"); got != many-3 {
		k.Fatalf("%d beats were kept, want %d", got, many-3)
	}
	for _, i := range []int{3, 7, 11} {
		if errs[i] == nil {
			k.Fatalf("beat %d was kept", i)
		}
	}
}

func beatPanics(k *kit) {
	const many = 16
	k.fleet(many)
	errs := together(many, func(i int) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fault.New(fault.Conflict, "panicked", "%v", p)
			}
		}()
		_, err = k.store.Beat(k.ctx, nodeName(i), ticket(fmt.Sprint(i)), func(n *placement.Node, l *placement.Lease) error {
			if i == 5 {
				panic("boom")
			}
			return beat(1)(n, l)
		})
		return err
	})
	if got := k.count(errs, fault.Conflict, "panicked"); got != many-1 || errs[5] == nil {
		k.Fatalf("%d beats were kept, the one that panicked gave %v", got, errs[5])
	}
	k.must(second(k.store.Beat(k.ctx, nodeName(5), ticket("5"), beat(1))))
}

func beatTicketMalformed(k *kit) {
	k.fleet(1)
	for _, t := range []store.Ticket{{Scope: "s", Nonce: "n"}, {Scope: "s", ExpiresAt: noon}, {Nonce: "n", ExpiresAt: noon}} {
		_, err := k.store.Beat(k.ctx, "n000", t, beat(1))
		k.refused("a beat", err, fault.Internal, "ticket_malformed")
		err = k.do(func(ctx context.Context, r *store.Roles) error { return r.Nonces.Spend(ctx, t) })
		k.refused("a spend", err, fault.Internal, "ticket_malformed")
	}
}
