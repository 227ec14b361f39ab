package fleet_test

import (
	"fmt"
	"reflect"
	"testing"

	"berth/application/fleet"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// What an operator defines is checked, once only, and audited.
func TestDefiningRegionsAndNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	if e := w.lastEntry("region.created"); e.Subject != "region/eu" || e.Actor != alice || e.Detail["origin"] != "https://eu.example.test" {
		t.Errorf("the region was audited as %+v", e)
	}
	w.defineNode("a", "eu", 10)
	if e := w.lastEntry("node.created"); e.Subject != "node/a" || e.Detail["region"] != "eu" || e.Detail["capacity.tenants"] != "10" {
		t.Errorf("the node was audited as %+v", e)
	}
	before := w.dump()
	w.hints.Took()
	for slug, in := range map[string]fleet.CreateRegionRequest{
		"region_exists":  {ID: "eu", Origin: "https://x.example.test"},
		"invalid_id":     {ID: "E U", Origin: "https://x.example.test"},
		"invalid_origin": {ID: "us", Origin: "http://x.example.test"},
	} {
		in.Actor = alice
		_, err := w.CreateRegion(w.ctx, in)
		w.refused(err, slug)
	}
	for slug, in := range map[string]fleet.CreateNodeRequest{
		"node_exists":      {ID: "a", Region: "eu"},
		"invalid_id":       {ID: "-", Region: "eu"},
		"out_of_range":     {ID: "b", Region: "eu", Capacity: placement.Capacity{Tenants: -1}},
		"region_not_found": {ID: "b", Region: "us"},
	} {
		in.Actor = alice
		_, err := w.CreateNode(w.ctx, in)
		w.refused(err, slug)
	}
	w.same(before, "what was refused")
	_, err := w.Node(w.ctx, "nobody")
	w.refused(err, "node_not_found")
}

// Cordoning and resizing change what they name only; a node below what it holds takes nothing new (P12).
func TestChangeNode(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	off, on := false, true
	c, err := w.ChangeNode(w.ctx, fleet.ChangeNodeRequest{Actor: alice, Node: "a", Schedulable: &off})
	w.must(err)
	if r := c.Node.Record(); r.Schedulable || r.Status != placement.NodeActive || r.Capacity.Tenants != 100 || r.Tenants != 1 {
		t.Errorf("cordoned it is %+v", r)
	}
	c, err = w.ChangeNode(w.ctx, fleet.ChangeNodeRequest{
		Actor: alice, Node: "a", Schedulable: &on, Capacity: &placement.Capacity{Tenants: 1, Bytes: 5},
	})
	w.must(err)
	if r := c.Node.Record(); !r.Schedulable || r.Capacity != (placement.Capacity{Tenants: 1, Bytes: 5}) || c.Eligible() {
		t.Errorf("resized it is %+v", r)
	}
	if e := w.lastEntry("node.changed"); e.Detail["schedulable"] != "true" || e.Detail["capacity.bytes"] != "5" {
		t.Errorf("the change was audited as %+v", e)
	}
	w.hints.Took()
	before := w.dump()
	_, err = w.ChangeNode(w.ctx, fleet.ChangeNodeRequest{Actor: alice, Node: "a"})
	w.must(err)
	w.same(before, "a change of nothing")
	_, err = w.ChangeNode(w.ctx, fleet.ChangeNodeRequest{Actor: alice, Node: "a", Capacity: &placement.Capacity{Bytes: -1}})
	w.refused(err, "out_of_range")
	_, err = w.ChangeNode(w.ctx, fleet.ChangeNodeRequest{Actor: alice, Node: "nobody", Schedulable: &on})
	w.refused(err, "node_not_found")
	w.same(before, "a refused change")
}

// A node's status moves along its own machine only.
func TestNodeStatus(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	ask := func(do func(fleet.NodeRequest) (placement.Candidate, error), node string) error {
		_, err := do(fleet.NodeRequest{Actor: alice, Node: node})
		return err
	}
	drain := func(in fleet.NodeRequest) (placement.Candidate, error) { return w.DrainNode(w.ctx, in) }
	activate := func(in fleet.NodeRequest) (placement.Candidate, error) { return w.ActivateNode(w.ctx, in) }
	retire := func(in fleet.NodeRequest) (placement.Candidate, error) { return w.RetireNode(w.ctx, in) }
	replace := func(in fleet.NodeRequest) (placement.Candidate, error) { return w.ReplaceStorage(w.ctx, in) }

	w.refused(ask(activate, "a"), "node_status_conflict")
	w.must(ask(drain, "a"))
	w.refused(ask(drain, "a"), "node_status_conflict")
	w.register("a", "boot-2")
	if got := w.nodeRecord("a").Status; got != placement.NodeDraining {
		t.Errorf("registering made a draining node %s", got)
	}
	w.refused(ask(retire, "a"), "node_not_empty")
	w.must(ask(activate, "a"))
	w.must(ask(retire, "b"))
	for _, do := range []func(fleet.NodeRequest) (placement.Candidate, error){drain, activate, retire, replace} {
		w.refused(ask(do, "b"), "node_retired")
		w.refused(ask(do, "nobody"), "node_not_found")
	}
	if e := w.lastEntry("node.retired"); e.Subject != "node/b" || e.Actor != alice {
		t.Errorf("retiring was audited as %+v", e)
	}
}

// A node is not retired while a migration has still to drain from it: it could not report the end any more.
func TestRetireWaitsForDrains(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseDraining)
	_, err := w.RetireNode(w.ctx, fleet.NodeRequest{Actor: alice, Node: "a"})
	w.refused(err, "node_not_empty")
	w.must(w.drained("a", m, 2))
	_, err = w.RetireNode(w.ctx, fleet.NodeRequest{Actor: alice, Node: "a"})
	w.must(err)
}

// Lists come in order, in bounded pages, with a cursor as long as there is more.
func TestListsArePaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var regions, nodes []string
	for i := range 7 {
		id := fmt.Sprintf("r%d", i)
		w.region(id)
		regions = append(regions, id)
		nodes = append(nodes, fmt.Sprintf("n%d", i))
		w.defineNode(fmt.Sprintf("n%d", i), "r"+fmt.Sprint(i%2), 10)
	}
	for _, limit := range []int{-1, 0, 1, 2, 6, 7, 8, 1 << 30} {
		var gotRegions, gotNodes []string
		for p := (store.Page{Limit: limit}); ; {
			list, err := w.Regions(w.ctx, p)
			w.must(err)
			for _, r := range list.Items {
				gotRegions = append(gotRegions, r.ID)
			}
			if p.After = list.Next; p.After == "" {
				break
			}
			if len(list.Items) != limit {
				t.Errorf("a page of %d holds %d", limit, len(list.Items))
			}
		}
		for p := (store.Page{Limit: limit}); ; {
			list, err := w.Nodes(w.ctx, fleet.NodesRequest{Page: p})
			w.must(err)
			for _, c := range list.Items {
				gotNodes = append(gotNodes, c.Node.Record().ID)
			}
			if p.After = list.Next; p.After == "" {
				break
			}
		}
		if !reflect.DeepEqual(gotRegions, regions) || !reflect.DeepEqual(gotNodes, nodes) {
			t.Errorf("by %d: regions %v, nodes %v", limit, gotRegions, gotNodes)
		}
	}
	list, err := w.Nodes(w.ctx, fleet.NodesRequest{Region: "r1"})
	w.must(err)
	if len(list.Items) != 3 || list.Items[0].Node.Record().ID != "n1" {
		t.Errorf("region r1 lists %d nodes", len(list.Items))
	}
}

// A list is cut at its longest page, whatever is asked for.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 501 {
		w.region(fmt.Sprintf("r%03d", i))
	}
	list, err := w.Regions(w.ctx, store.Page{Limit: 10_000})
	w.must(err)
	if len(list.Items) != 500 || list.Next != "r499" {
		t.Errorf("%d items, next %q", len(list.Items), list.Next)
	}
	list, err = w.Regions(w.ctx, store.Page{})
	w.must(err)
	if len(list.Items) != 100 || list.Next != "r099" {
		t.Errorf("without a limit %d items, next %q", len(list.Items), list.Next)
	}
}

// Any node is told where a tenant lives, with the address and the identity that its peer must prove (R3).
func TestRoute(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.node("c", "eu", 10)
	w.region("empty")
	w.tenant("waiting", "empty")
	route := func(node, tenant string) (fleet.RouteAnswer, error) {
		return w.Route(w.ctx, fleet.RouteRequest{Caller: caller(node), Tenant: tenant})
	}
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseSwitching)
	want := fleet.RouteAnswer{
		Node: "a", Generation: 1, Version: w.placement("acme").Version, PeerAddress: "a.example.test:9443",
		SPIFFEID: "spiffe://example.test/relay/eu/a",
	}
	for _, node := range []string{"a", "b", "c"} {
		got, err := route(node, "acme")
		w.must(err)
		if got != want {
			t.Errorf("node %s is told %+v, want %+v", node, got, want)
		}
	}
	w.must(w.SweepMigrations(w.ctx))
	got, err := route("c", "acme")
	w.must(err)
	if got.Node != "b" || got.Generation != 2 || got.SPIFFEID != "spiffe://example.test/relay/eu/b" {
		t.Errorf("after the switch node c is told %+v", got)
	}
	_, unknown := route("c", "nobody")
	_, waiting := route("c", "waiting")
	if fault.SlugOf(unknown) != "not_found" || fmt.Sprint(unknown) != fmt.Sprint(waiting) {
		t.Errorf("unknown: %v; waiting: %v", unknown, waiting)
	}
}
