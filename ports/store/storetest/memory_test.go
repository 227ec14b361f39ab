package storetest

import (
	"context"
	"errors"
	"testing"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// The memory store keeps every law, which is what makes a use case's test on it worth something.
func TestMemoryKeepsTheLaws(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) store.Store { return NewMemory() })
}

// The faults that tests order do what they say, and end.
func TestMemoryFaults(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	k := newKit(t, m)
	write := func(id string) error {
		return k.do(func(ctx context.Context, r *store.Roles) error { return addRegion(ctx, r, id) })
	}
	there := func(id string) error {
		return k.see(func(ctx context.Context, r *store.Roles) error { return second(r.Regions.Get(ctx, id)) })
	}

	m.Inject(Faults{Begin: Always(Unavailable())})
	k.refused("a write while it is away", write("away"), fault.Unavailable, "store_unavailable")
	k.refused("a read while it is away", there("away"), fault.Unavailable, "store_unavailable")
	k.refused("a ping while it is away", m.Ping(k.ctx), fault.Unavailable, "store_unavailable")

	m.Inject(Faults{Commit: Always(Unavailable())})
	k.refused("a commit that fails", write("failed"), fault.Unavailable, "store_unavailable")
	k.refused("what was not committed", there("failed"), fault.NotFound, "region_not_found")

	m.Inject(Faults{Answer: Always(CommitUnknown())})
	k.refused("an answer that is lost", write("lost"), fault.Unavailable, "commit_unknown")
	k.must(there("lost"))

	m.Inject(Faults{})
	k.must(write("fine"))
	k.must(there("fine"))
}

// A function that is not idempotent shows when every function runs twice; one that is does not.
func TestMemoryRunsFunctionsTwice(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	k := newKit(t, m)
	k.fleet(1)
	m.Inject(Faults{Twice: true})
	calls := 0
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		calls++
		return errors.Join(addRegion(ctx, r, "eu"), r.Nonces.Spend(ctx, ticket("a")))
	})
	k.must(second(m.Beat(k.ctx, nodeName(0), ticket("b"), func(n *placement.Node, l *placement.Lease) error {
		calls++
		return beat(1)(n, l)
	})))
	if calls != 4 {
		t.Fatalf("%d calls, want 4", calls)
	}
	if got := k.lease(nodeName(0)).Sequence; got != 1 {
		t.Fatalf("sequence %d, want 1", got)
	}
}

// After a failover the store is what the copy was, in another history.
func TestMemoryFailsOver(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	k := newKit(t, m)
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return addRegion(ctx, r, "kept") })
	behind, origin := m.Copy(), k.origin(k.see)
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return addRegion(ctx, r, "lost") })
	m.FailOver(behind, "promoted")
	for name, run := range map[string]func(body) error{"a transaction": k.do, "a view": k.see} {
		if got := k.origin(run); got == origin || got != "promoted" {
			t.Errorf("%s reads %q", name, got)
		}
	}
	err := k.see(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(second(r.Regions.Get(ctx, "kept")), expect(second(r.Regions.Get(ctx, "lost")), fault.NotFound, "region_not_found"))
	})
	k.must(err)
}
