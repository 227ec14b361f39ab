package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func isolationLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("no update is lost", noLostUpdate),
		promise("no write skew fills a node past its capacity", noWriteSkew),
		promise("no phantom gets into the queue", noPhantom),
		promise("what waits is taken once", takenOnce),
		promise("a view stays at one state while others commit", viewsStable),
		promise("a view does not see what is not committed", noDirtyRead),
		promise("a view sees every commit that was answered", viewsFresh),
		promise("a rolled back write is never seen", noGhosts),
	}
}

const (
	crowd  = 8  // goroutines of a race
	rounds = 12 // how often each runs
)

// inTurns lets every goroutine of a crowd run fn so many times and fails the law at the first fault.
func (k *kit) inTurns(fn func(worker, round int) error) {
	k.Helper()
	k.mustAll(crowd, func(worker int) error {
		for round := range rounds {
			if err := fn(worker, round); err != nil {
				return err
			}
		}
		return nil
	})
}

func noLostUpdate(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return haveNode(ctx, r, "n") })
	k.inTurns(func(int, int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			return store.UpdateIn(ctx, r.Nodes, "n", func(n *placement.Node) error {
				runtime.Gosched()
				return addTenants(n, 1)
			})
		})
	})
	k.tenants("n", crowd*rounds)
}

// addTenants counts tenants on a node as a placement would, through what a store writes.
func addTenants(n *placement.Node, more int64) error {
	record := n.Record()
	record.Tenants += more
	*n = *placement.RestoreNode(record)
	return nil
}

func (k *kit) tenants(id string, want int64) {
	k.Helper()
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		n, err := r.Nodes.Get(ctx, id)
		if err == nil && n.Record().Tenants != want {
			err = fmt.Errorf("%s counts %d, want %d", id, n.Record().Tenants, want)
		}
		return err
	})
}

// Two nodes share a limit: each transaction reads both and writes one, so that neither of two that overlap sees what
// the other wrote.
func noWriteSkew(k *kit) {
	const limit = 5
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(haveNode(ctx, r, "n0"), haveNode(ctx, r, "n1"))
	})
	k.inTurns(func(worker, _ int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			var nodes [2]*placement.Node
			var sum int64
			for i := range nodes {
				n, err := r.Nodes.Get(ctx, fmt.Sprint("n", i))
				if err != nil {
					return err
				}
				nodes[i] = n
				sum += n.Record().Tenants
				runtime.Gosched()
			}
			if sum >= limit {
				return nil
			}
			mine := nodes[worker%2]
			return errors.Join(addTenants(mine, 1), r.Nodes.Save(ctx, mine))
		})
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		n0, err0 := r.Nodes.Get(ctx, "n0")
		n1, err1 := r.Nodes.Get(ctx, "n1")
		if err := errors.Join(err0, err1); err != nil {
			return err
		}
		if sum := n0.Record().Tenants + n1.Record().Tenants; sum != limit {
			return fmt.Errorf("the nodes hold %d tenants, want %d", sum, limit)
		}
		return nil
	})
}

func noPhantom(k *kit) {
	const limit = 3
	k.inTurns(func(worker, round int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			waiting, err := r.Queue.Oldest(ctx, "eu", 99)
			if err != nil || len(waiting) >= limit {
				return err
			}
			runtime.Gosched()
			return r.Queue.Add(ctx, placement.Waiting{Tenant: fmt.Sprintf("t-%d-%d", worker, round), Region: "eu", Since: noon})
		})
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		waiting, err := r.Queue.Oldest(ctx, "", 99)
		if err == nil && len(waiting) != limit {
			err = fmt.Errorf("%d tenants wait, want %d", len(waiting), limit)
		}
		return err
	})
}

func takenOnce(k *kit) {
	const many = crowd * rounds / 2
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range many {
			if err := r.Queue.Add(ctx, placement.Waiting{Tenant: fmt.Sprintf("t%03d", i), Region: "eu", Since: noon}); err != nil {
				return err
			}
		}
		return nil
	})
	taken := make([][]string, crowd)
	k.inTurns(func(worker, _ int) error {
		var got string
		err := k.do(func(ctx context.Context, r *store.Roles) error {
			got = ""
			first, err := r.Queue.Oldest(ctx, "", 1)
			if err != nil || len(first) == 0 {
				return err
			}
			got = first[0].Tenant
			runtime.Gosched()
			return r.Queue.Remove(ctx, got)
		})
		if err == nil && got != "" {
			taken[worker] = append(taken[worker], got)
		}
		return err
	})
	seen := map[string]bool{}
	for _, each := range taken {
		for _, tenant := range each {
			if seen[tenant] {
				k.Fatalf("%s was taken twice", tenant)
			}
			seen[tenant] = true
		}
	}
	if len(seen) != many {
		k.Fatalf("%d were taken, want %d", len(seen), many)
	}
}

// aside runs fn in another goroutine to its end, so that the law's own transaction stays open meanwhile.
func aside(fn func() error) error { return together(1, func(int) error { return fn() })[0] }

func (k *kit) count1() error {
	return k.do(func(ctx context.Context, r *store.Roles) error {
		if err := addRegion(ctx, r, fmt.Sprint("r", k.made)); err != nil {
			return err
		}
		return store.UpdateIn(ctx, r.Nodes, "n", func(n *placement.Node) error { return addTenants(n, 1) })
	})
}

func viewsStable(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return haveNode(ctx, r, "n") })
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		for range 3 {
			n, err := r.Nodes.Get(ctx, "n")
			if err != nil {
				return err
			}
			regions, err := r.Regions.List(ctx, store.Page{Limit: 9})
			if err != nil {
				return err
			}
			if n.Record().Tenants != 0 || len(regions) != 0 {
				return fmt.Errorf("the view moved on: %d tenants, %d regions", n.Record().Tenants, len(regions))
			}
			k.made++
			if err := aside(k.count1); err != nil {
				return err
			}
		}
		return nil
	})
	k.tenants("n", 3)
}

func noDirtyRead(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return haveNode(ctx, r, "n") })
	look := func() error {
		return k.see(func(ctx context.Context, r *store.Roles) error {
			n, err := r.Nodes.Get(ctx, "n")
			if err == nil && n.Record().Tenants != 0 {
				err = errors.New("a view saw an uncommitted update")
			}
			return errors.Join(err, expect(second(r.Regions.Get(ctx, "new")), fault.NotFound, "region_not_found"))
		})
	}
	err := k.do(func(ctx context.Context, r *store.Roles) error {
		update := store.UpdateIn(ctx, r.Nodes, "n", func(n *placement.Node) error { return addTenants(n, 1) })
		return errors.Join(update, addRegion(ctx, r, "new"), aside(look), errUndo)
	})
	if fmt.Sprint(err) != errUndo.Error() {
		k.Fatalf("got %v", err)
	}
	k.must(look())
}

var errUndo = errors.New("undo")

func viewsFresh(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range crowd {
			if err := haveNode(ctx, r, fmt.Sprint("n", i)); err != nil {
				return err
			}
		}
		return nil
	})
	k.inTurns(func(worker, round int) error {
		id := fmt.Sprint("n", worker)
		err := k.do(func(ctx context.Context, r *store.Roles) error {
			return store.UpdateIn(ctx, r.Nodes, id, func(n *placement.Node) error { return addTenants(n, 1) })
		})
		if err != nil {
			return err
		}
		return k.see(func(ctx context.Context, r *store.Roles) error {
			n, err := r.Nodes.Get(ctx, id)
			if err == nil && n.Record().Tenants != int64(round+1) {
				err = fmt.Errorf("a view after commit %d saw %d", round+1, n.Record().Tenants)
			}
			return err
		})
	})
}

func noGhosts(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return haveNode(ctx, r, "n") })
	k.mustAll(crowd, func(worker int) error {
		for range rounds {
			err := k.do(func(ctx context.Context, r *store.Roles) error {
				n, err := r.Nodes.Get(ctx, "n")
				if err != nil {
					return err
				}
				if n.Record().Tenants%2 != 0 {
					return errors.New("a rolled back write was seen")
				}
				if worker%2 == 0 {
					return errors.Join(addTenants(n, 2), r.Nodes.Save(ctx, n))
				}
				return errors.Join(addTenants(n, 1), r.Nodes.Save(ctx, n), errUndo)
			})
			if err != nil && fmt.Sprint(err) != errUndo.Error() {
				return err
			}
		}
		return nil
	})
	k.tenants("n", crowd/2*rounds*2)
}
