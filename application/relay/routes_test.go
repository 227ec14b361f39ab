package relay_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"berth/application/relay"
	"berth/domain/placement"
	"berth/ports/authority"
	"berth/ports/authority/authoritytest"
	"berth/ports/engine"
)

// neighbours gives n1 an address and a tenant, t1.
func (r *rig) neighbours(address string) {
	r.t.Helper()
	r.control.AddTenant("t1", "n1")
	r.register("n1", address)
}

func (r *rig) register(node, address string) {
	r.t.Helper()
	_, err := (&authoritytest.Client{Control: r.control, Node: node}).Register(r.t.Context(), placement.Registration{BootID: "b", StorageID: "s", Advertise: address})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) locate(tenant string) (relay.Where, string) {
	w, err := r.node.Locate(r.t.Context(), tenant, nil)
	return w, slugOf(err)
}

// A tenant of this node's is served here, another's by its node; a route is asked for once in its life.
func TestLocate(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.neighbours("n1.test:8444")
		r.up()
		if w, slug := r.locate("t0"); slug != "" || !w.Here {
			t.Fatalf("the node's own: %+v, %s", w, slug)
		}
		want := authority.Route{
			Tenant: "t1", Node: "n1", Generation: 1, Version: 1, Address: "n1.test:8444", SPIFFEID: authoritytest.SPIFFEID("n1").String(),
		}
		for range 29 {
			if w, slug := r.locate("t1"); slug != "" || w.Here || w.To != want {
				t.Fatalf("another's: %+v, %s", w, slug)
			}
			pass(time.Second)
		}
		if n := r.called("Route"); n != 1 {
			t.Fatalf("%d questions in the life of a route", n)
		}
		pass(2 * time.Second)
		if _, slug := r.locate("t1"); slug != "" || r.called("Route") != 2 {
			t.Fatalf("after its life: %s, %d questions", slug, r.called("Route"))
		}
	})
}

// What can not be followed is refused by name, and nothing of what the control plane has against the node is told.
func TestLocateRefuses(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.neighbours("")
		r.control.AddNodeIn("us", "n9", 10)
		r.control.AddTenant("t9", "n9")
		r.register("n9", "n9.test:1")
		r.up()
		for tenant, want := range map[string]string{"t1": "peer_address_unknown", "t9": "region_changed", "none": "not_found"} {
			if w, slug := r.locate(tenant); slug != want || w != (relay.Where{}) {
				t.Errorf("%s: %+v, %s", tenant, w, slug)
			}
		}
		r.control.AddTenant("t5", "n0")
		r.spoiled(only("Assignments", true))
		r.control.AddTenant("t6", "n0")
		if w, slug := r.locate("t6"); slug != "not_holder" {
			t.Errorf("a tenant of which the node was not told yet: %+v, %s", w, slug)
		}
		r.spoiled(only("Route", false))
		before := r.called("Route")
		for range 50 {
			if _, slug := r.locate("t7"); slug != "route_unknown" {
				t.Fatalf("without an answer: %s", slug)
			}
			pass(10 * time.Millisecond)
		}
		if n := r.called("Route") - before; n != 1 {
			t.Errorf("%d questions in half a second without an answer", n)
		}
	})
}

// A forwarded connection is served here at the generation that its peer believes, and goes nowhere else.
func TestForwardedGoesNoFurther(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.neighbours("n1.test:1")
		r.up()
		if _, slug := r.locate("t1"); slug != "" {
			t.Fatal(slug)
		}
		for _, c := range []struct {
			tenant     string
			generation int64
			slug       string
		}{{"t0", 1, ""}, {"t0", 2, "generation_changed"}, {"t0", 0, "generation_changed"}, {"t1", 1, "not_holder"}, {"none", 1, "not_holder"}} {
			w, err := r.node.Locate(r.t.Context(), c.tenant, &c.generation)
			if slugOf(err) != c.slug || w.Here != (c.slug == "") || w.To != (authority.Route{}) {
				t.Errorf("%s at %d: %+v, %v", c.tenant, c.generation, w, err)
			}
		}
	})
}

// 200 connections that miss at once ask one question, and get one answer; one that gives up does not take it from the others.
func TestConcurrentMissesAskOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.neighbours("n1.test:1")
		r.up()
		hold := make(chan struct{})
		r.spoiled(func(method string, back bool) error {
			if method == "Route" && !back {
				<-hold
			}
			return nil
		})
		first, giveUp := context.WithCancel(r.t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		ask := func(ctx context.Context) {
			w, err := r.node.Locate(ctx, "t1", nil)
			mu.Lock()
			defer mu.Unlock()
			got[w.To.Node+slugOf(err)]++
		}
		all.Go(func() { ask(first) })
		synctest.Wait()
		for range 199 {
			all.Go(func() { ask(r.t.Context()) })
		}
		synctest.Wait()
		giveUp()
		synctest.Wait()
		close(hold)
		all.Wait()
		if got["n1"] != 199 || got["request_ended"] != 1 || r.called("Route") != 1 {
			t.Fatalf("got %v by %d questions", got, r.called("Route"))
		}
	})
}

// A route whose node refuses is asked for anew exactly once by all who were refused. What the answer confirms is tried once
// more; after that the devices are sent away for a while, until there is a higher one.
func TestStaleRouteIsRefreshedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.control.AddNode("n2", 10)
		r.neighbours("n1.test:1")
		r.register("n2", "n2.test:1")
		r.up()
		stale, slug := r.locate("t1")
		if slug != "" {
			t.Fatal(slug)
		}
		before := r.called("Route")
		refusedBy := func(want func(w relay.Where, slug string) bool) {
			var all sync.WaitGroup
			for range 200 {
				r.node.RouteRefused(stale.To)
			}
			for range 200 {
				all.Go(func() {
					if w, slug := r.locate("t1"); !want(w, slug) {
						t.Errorf("located at %+v, %s", w, slug)
					}
				})
			}
			all.Wait()
		}
		refusedBy(func(w relay.Where, slug string) bool { return slug == "" && w.To == stale.To })
		if n := r.called("Route") - before; n != 1 {
			t.Fatalf("%d questions", n)
		}
		r.moved("t1", "n1", "n2")
		refusedBy(func(_ relay.Where, slug string) bool { return slug == "route_refused" })
		if n := r.called("Route") - before; n != 1 {
			t.Fatalf("within a second after the last one: %d questions", n)
		}
		pass(time.Second)
		refusedBy(func(w relay.Where, slug string) bool {
			return slug == "" && w.To.Node == "n2" && w.To.Generation == 2 && w.To.Version > stale.To.Version
		})
		refusedBy(func(w relay.Where, slug string) bool { return slug == "" && w.To.Node == "n2" }) // it is another route that was refused
		if n := r.called("Route") - before; n != 2 {
			t.Fatalf("%d questions", n)
		}
	})
}

// moved moves a tenant from one node to another at once.
func (r *rig) moved(tenant, from, to string) {
	r.t.Helper()
	ctx := r.t.Context()
	source, target := &authoritytest.Client{Control: r.control, Node: from}, &authoritytest.Client{Control: r.control, Node: to}
	for _, c := range []*authoritytest.Client{source, target} {
		if _, err := c.Beat(ctx, authority.Beat{Generation: 1, Sequence: 1}); err != nil {
			r.t.Fatal(err)
		}
	}
	id, err := r.control.Migrate(tenant, to)
	if err != nil {
		r.t.Fatal(err)
	}
	manifest, err := placement.Content{Tenant: tenant, Generation: 1}.Manifest()
	if err != nil {
		r.t.Fatal(err)
	}
	for i, step := range []func() error{
		func() error { return source.Prepared(ctx, id, 1, 0) }, func() error { return target.Prepared(ctx, id, 1, 0) },
		func() error { return source.Quiesced(ctx, id, 1, manifest) }, func() error { return target.Copied(ctx, id, 1, manifest) },
		func() error { r.control.Sweep(); return nil },
	} {
		if err := step(); err != nil {
			r.t.Fatalf("step %d: %v", i, err)
		}
	}
	if p := r.control.Place(tenant); p.Node != to {
		r.t.Fatalf("the tenant is on %s", p.Node)
	}
}

// A route that is older than what the node itself was told of the tenant, as after the control plane came back from a backup, is
// not followed.
func TestOlderRouteIsNotFollowed(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.neighbours("n1.test:1")
		if err := r.disk.Saw(r.t.Context(), []engine.Seen{{Tenant: "t1", Generation: 1, Version: 2}}); err != nil {
			t.Fatal(err)
		}
		r.up()
		_, err := r.node.Locate(r.t.Context(), "t1", nil)
		if slugOf(err) != "route_unknown" || slugOf(errors.Unwrap(err)) != "route_older" {
			t.Fatalf("located with %v", err)
		}
	})
}

// The routes that are kept are those of the tenants that were asked for last.
func TestRoutesAreBounded(t *testing.T) {
	t.Parallel()
	const most = 20_000 // as the node has it
	bubble(t, func(r *rig) {
		name := func(i int) string { return fmt.Sprintf("x%d", i) }
		for i := range most + 1 {
			r.control.AddTenant(name(i), "n1")
		}
		r.register("n1", "n1.test:1")
		r.up()
		for i := range most {
			_, _ = r.locate(name(i))
		}
		_, _ = r.locate(name(0)) // it is used again
		_, _ = r.locate(name(most))
		before := r.called("Route")
		for i, asks := range map[int]int{0: 0, 3: 0, most: 0, 1: 1} {
			was := r.called("Route")
			if _, slug := r.locate(name(i)); slug != "" || r.called("Route")-was != asks {
				t.Errorf("x%d: %s, %d questions", i, slug, r.called("Route")-was)
			}
		}
		if before != most+1 {
			t.Errorf("%d questions for %d tenants", before, most+1)
		}
	})
}

// The questions that are asked at a time are bounded, and so are the routes that are kept.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		for i := range 100 {
			r.control.AddTenant(fmt.Sprint("x", i), "n1")
		}
		r.register("n1", "n1.test:1")
		r.up()
		var mu sync.Mutex
		now, most := 0, 0
		r.spoiled(func(method string, back bool) error {
			if method != "Route" {
				return nil
			}
			mu.Lock()
			if now++; back {
				now -= 2
			}
			most = max(most, now)
			mu.Unlock()
			if !back {
				pass(10 * time.Millisecond)
			}
			return nil
		})
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				if _, slug := r.locate(fmt.Sprint("x", i)); slug != "" {
					t.Error(slug)
				}
			})
		}
		all.Wait()
		if most > 32 || most < 8 {
			t.Fatalf("%d questions at a time", most)
		}
	})
}
