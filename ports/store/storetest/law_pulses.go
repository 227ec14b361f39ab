package storetest

import (
	"context"
	"errors"
	"fmt"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func pulseLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a pulse is raised by a change of a head for each node that its placement names", pulseOfHeads),
		promise("a pulse is raised by a change of a placement for each node before and after", pulseOfPlacements),
		promise("a pulse stays when nothing of the node's changed", pulseStays),
		promise("a pulse that was answered after a commit counts it", pulseFresh),
		promise("while a pulse stays, nothing differs that did not", pulseTold),
		promise("a pulse takes any node, names the origin, and refuses what is no text", pulseOfAnyone),
	}
}

func (k *kit) pulses(nodes ...string) map[string]store.Pulse {
	k.Helper()
	out := map[string]store.Pulse{}
	for _, node := range nodes {
		p, err := k.store.Pulse(k.ctx, node)
		k.must(err)
		out[node] = p
	}
	return out
}

// stirs fails the law unless exactly the named nodes, of a to f, have another pulse after the transaction.
func (k *kit) stirs(what, stirred string, fn body) {
	k.Helper()
	nodes := []string{"a", "b", "c", "d", "e", "f"}
	before := k.pulses(nodes...)
	k.mustDo(fn)
	after, changed := k.pulses(nodes...), ""
	for _, node := range nodes {
		if before[node] != after[node] {
			changed += node
		}
		if before[node].Origin != after[node].Origin || after[node].Number < before[node].Number {
			k.Fatalf("%s: the pulse of %s went from %+v to %+v", what, node, before[node], after[node])
		}
	}
	if changed != stirred {
		k.Fatalf("%s stirred %q, want %q", what, changed, stirred)
	}
}

func standing(tenant, node, source, target string) *placement.Placement {
	return placement.Restore(placement.Record{Tenant: tenant, Node: node, Source: source, Target: target, Generation: 1, ChangedAt: noon})
}

func createsAt(p *placement.Placement) body {
	return func(ctx context.Context, r *store.Roles) error { return r.Placements.Create(ctx, p) }
}

func savesAt(p *placement.Placement) body {
	return func(ctx context.Context, r *store.Roles) error { return r.Placements.Save(ctx, p) }
}

func raises(tenant string) body {
	return func(ctx context.Context, r *store.Roles) error {
		return store.UpdateIn(ctx, r.Tenants, tenant, func(t *authorization.Tenant) error {
			record := t.Record()
			record.Revision++
			*t = *authorization.RestoreTenant(record)
			return nil
		})
	}
}

func pulseOfHeads(k *kit) {
	k.stirs("a tenant without a place", "", func(ctx context.Context, r *store.Roles) error {
		return errors.Join(place(ctx, r, "held", "", 0, 1), place(ctx, r, "moving", "", 0, 1), place(ctx, r, "waiting", "", 0, 1))
	})
	k.mustDo(createsAt(standing("held", "a", "", "")))
	k.mustDo(createsAt(standing("moving", "b", "b", "c")))
	k.stirs("the head of a tenant that is held", "a", raises("held"))
	k.stirs("the head of a tenant that moves", "bc", raises("moving"))
	k.stirs("the head of a tenant that waits", "", raises("waiting"))
	k.stirs("both heads", "abc", func(ctx context.Context, r *store.Roles) error {
		return errors.Join(raises("held")(ctx, r), raises("moving")(ctx, r))
	})
}

func pulseOfPlacements(k *kit) {
	for _, step := range []struct {
		what, stirred string
		to            *placement.Placement
	}{
		{"a first place", "a", standing("acme", "a", "", "")},
		{"a move that begins", "ab", standing("acme", "a", "a", "b")},
		{"a switch", "ab", standing("acme", "b", "a", "b")},
		{"the end of a move", "ab", standing("acme", "b", "", "")},
		{"a jump", "bcde", standing("acme", "c", "d", "e")},
		{"a jump back", "acde", standing("acme", "a", "", "")},
		{"a write of the same", "a", standing("acme", "a", "", "")},
	} {
		do := savesAt
		if step.what == "a first place" {
			do = createsAt
		}
		k.stirs(step.what, step.stirred, do(step.to))
	}
}

func pulseStays(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(place(ctx, r, "acme", "a", 1, 1), haveNode(ctx, r, "a"), r.Leases.Create(ctx, placement.NewLease("a")))
	})
	k.stirs("another's tenant", "b", func(ctx context.Context, r *store.Roles) error { return place(ctx, r, "other", "b", 1, 1) })
	k.stirs("a transaction about other things", "", func(ctx context.Context, r *store.Roles) error {
		n, err := r.Nodes.Get(ctx, "a")
		return errors.Join(err, addRegion(ctx, r, "eu"), addTenants(n, 1), r.Nodes.Save(ctx, n), r.Nonces.Spend(ctx, ticket("x")))
	})
	before := k.pulses("a")
	k.must(second(k.store.Beat(k.ctx, "a", store.Ticket{}, use)))
	mine := errors.New("mine")
	err := k.do(func(ctx context.Context, r *store.Roles) error { return errors.Join(raises("acme")(ctx, r), mine) })
	if !errors.Is(err, mine) {
		k.Fatalf("got %v", err)
	}
	k.refused("a second place", k.do(createsAt(standing("acme", "c", "", ""))), fault.AlreadyExists, "placement_exists")
	k.refused("a place of nobody", k.do(savesAt(standing("nobody", "c", "", ""))), fault.NotFound, "placement_not_found")
	if after := k.pulses("a"); after["a"] != before["a"] {
		k.Fatalf("a beat and transactions that failed took the pulse from %+v to %+v", before, after)
	}
}

// While others ask all the time, each changes its own and must see that at once.
func pulseFresh(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range crowd {
			if err := place(ctx, r, fmt.Sprint("t", i), nodeName(i), 1, 1); err != nil {
				return err
			}
		}
		return nil
	})
	var last [crowd]store.Pulse
	k.inTurns(func(worker, _ int) error {
		if err := k.do(raises(fmt.Sprint("t", worker))); err != nil {
			return err
		}
		now, err := k.store.Pulse(k.ctx, nodeName(worker))
		if err == nil && now == last[worker] {
			err = fmt.Errorf("the pulse stayed at %+v over a commit", now)
		}
		last[worker] = now
		return err
	})
}

// Whatever is written, in any order: beliefs that were true are true as long as the pulse is the same.
func pulseTold(k *kit) {
	const tenants = 4
	nodes := []string{"a", "b", "c"}
	one := func() string { return nodes[k.rand.IntN(len(nodes))] }
	var known []store.Known
	for i := range tenants {
		tenant := fmt.Sprint("t", i)
		k.mustDo(func(ctx context.Context, r *store.Roles) error { return place(ctx, r, tenant, one(), 1, 1) })
	}
	for range 60 {
		known = known[:0]
		k.mustSee(func(ctx context.Context, r *store.Roles) error {
			for i := range tenants {
				at, err := r.Standings.Get(ctx, fmt.Sprint("t", i))
				if err != nil {
					return err
				}
				known = append(known, store.Known{
					Tenant: at.Tenant.ID(), Generation: at.Placement.Record().Generation, Revision: at.Tenant.Revision(),
				})
			}
			return nil
		})
		before := k.pulses(nodes...)
		was := k.standAsBelieved(nodes, known)
		tenant := known[k.rand.IntN(tenants)].Tenant
		write := raises(tenant)
		if k.rand.IntN(2) == 0 {
			moved := placement.Record{Tenant: tenant, Node: one(), Generation: int64(k.rand.IntN(3)), ChangedAt: noon}
			if k.rand.IntN(2) == 0 {
				moved.Source, moved.Target = one(), one()
			}
			write = savesAt(placement.Restore(moved))
		}
		k.mustDo(write)
		is, after := k.standAsBelieved(nodes, known), k.pulses(nodes...)
		for _, node := range nodes {
			if before[node] == after[node] && was[node] != is[node] {
				k.Fatalf("the pulse of %s stayed, and what stands as believed went from %q to %q", node, was[node], is[node])
			}
		}
	}
}

// standAsBelieved says for each node which of the beliefs are true of it.
func (k *kit) standAsBelieved(nodes []string, known []store.Known) map[string]string {
	k.Helper()
	out := map[string]string{}
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		for _, node := range nodes {
			for _, belief := range known {
				differing, _, err := r.Standings.Differing(ctx, node, []store.Known{belief})
				if err != nil {
					return err
				}
				if len(differing) == 0 {
					out[node] += belief.Tenant + " "
				}
			}
		}
		return nil
	})
	return out
}

func pulseOfAnyone(k *kit) {
	if got := k.pulses("nobody")["nobody"].Origin; got != k.origin(k.see) {
		k.Fatalf("the origin of a pulse is %q", got)
	}
	if p := k.pulses("nobody", ""); p["nobody"] != k.pulses("nobody")["nobody"] {
		k.Fatalf("the pulse of nobody changes by itself")
	}
	for _, node := range []string{"nul\x00", "broken\xff"} {
		_, err := k.store.Pulse(k.ctx, node)
		k.refused("a pulse", err, fault.Invalid, "invalid_text")
	}
}
