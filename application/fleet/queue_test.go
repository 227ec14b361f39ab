package fleet_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"berth/application/fleet"
	"berth/ports/notify"
)

func (w *world) queued(region string) []string {
	w.t.Helper()
	list, err := w.PlacementQueue(w.ctx, fleet.PlacementQueueRequest{Region: region})
	w.must(err)
	var out []string
	for _, q := range list {
		out = append(out, q.Tenant)
	}
	return out
}

// Tenants that no node takes wait, and are placed oldest first as room appears, region by region (P12).
func TestQueueIsPlacedOldestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	w.region("us")
	for _, id := range []string{"zoe", "ann", "mia", "bob"} {
		if p := w.tenant(id, "eu"); p != nil {
			t.Fatalf("%s was placed where no node is", id)
		}
		w.clock.Advance(time.Second)
	}
	w.tenant("far", "us")
	if e := w.lastEntry("tenant.queued"); e.Subject != "tenant/far" || e.Detail["region"] != "us" {
		t.Errorf("waiting was audited as %+v", e)
	}
	if got := w.queued(""); !reflect.DeepEqual(got, []string{"zoe", "ann", "mia", "bob", "far"}) {
		t.Fatalf("the queue is %v", got)
	}
	w.hints.Took()
	before := w.dump()
	w.must(w.SweepQueue(w.ctx))
	w.same(before, "a sweep without room")
	w.node("a", "eu", 2)
	w.hints.Took()
	w.must(w.SweepQueue(w.ctx))
	if got := w.queued(""); !reflect.DeepEqual(got, []string{"mia", "bob", "far"}) {
		t.Fatalf("after two places the queue is %v", got)
	}
	if got := w.hints.Took(); !reflect.DeepEqual(got, []notify.Topic{"node/a", "tenant/ann", "tenant/zoe"}) {
		t.Errorf("placing hinted at %v", got)
	}
	if p := w.placement("ann"); p.Node != "a" || p.Generation != 1 || p.Version != 1 || p.HomeRegion != "eu" {
		t.Errorf("placed as %+v", p)
	}
	w.node("b", "us", 1)
	w.must(w.SweepQueue(w.ctx))
	if got := w.queued("us"); len(got) != 0 {
		t.Errorf("in us still wait %v", got)
	}
	w.checkCounters()
}

// Who comes later waits behind those that wait already, although there is room by now (P12).
func TestNewTenantsDoNotPassTheQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	w.tenant("first", "eu")
	w.node("a", "eu", 1)
	w.clock.Advance(time.Second)
	if p := w.tenant("second", "eu"); p != nil {
		t.Fatal("the second tenant passed the first")
	}
	w.must(w.SweepQueue(w.ctx))
	if got := w.queued(""); !reflect.DeepEqual(got, []string{"second"}) {
		t.Errorf("the queue is %v", got)
	}
}

// One sweep places a bounded number of a region, and full regions hold up no other.
func TestQueueSweepIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Settings.QueueBatch = 3
	w.region("eu")
	w.region("full")
	for i := range 5 {
		w.tenant(fmt.Sprintf("x%d", i), "full")
		w.tenant(fmt.Sprintf("t%d", i), "eu")
	}
	w.node("a", "eu", 100)
	w.must(w.SweepQueue(w.ctx))
	if got := w.queued("eu"); !reflect.DeepEqual(got, []string{"t3", "t4"}) {
		t.Errorf("after one sweep wait %v", got)
	}
	w.must(w.SweepQueue(w.ctx))
	if got := w.queued("eu"); len(got) != 0 {
		t.Errorf("after two sweeps wait %v", got)
	}
}

// A full region costs a sweep one attempt, however many wait.
func TestFullRegionCostsOneAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	for i := range 20 {
		w.tenant(fmt.Sprintf("t%02d", i), "eu")
	}
	attempts := 0
	w.Store = before{w.mem, func() { attempts++ }}
	w.must(w.SweepQueue(w.ctx))
	if attempts != 1 {
		t.Errorf("%d attempts", attempts)
	}
}

// Replicas that sweep at once place each tenant once and never more than there is room for.
func TestReplicasPlaceOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.replica()
	w.region("eu")
	for i := range 40 {
		w.tenant(fmt.Sprintf("t%02d", i), "eu")
	}
	w.node("a", "eu", 15)
	w.node("b", "eu", 15)
	w.together(
		func() error { return w.SweepQueue(w.ctx) }, func() error { return other.SweepQueue(w.ctx) },
		func() error { return w.SweepQueue(w.ctx) }, func() error { return other.SweepQueue(w.ctx) },
	)
	if got := len(w.queued("")); got != 10 {
		t.Errorf("%d tenants wait, want 10", got)
	}
	if a, b := w.nodeRecord("a").Tenants, w.nodeRecord("b").Tenants; a != 15 || b != 15 {
		t.Errorf("the nodes hold %d and %d", a, b)
	}
	w.checkCounters()
}

// First places spread by free capacity (P12), and a region that does not exist is refused.
func TestPlaceSpreads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	w.node("big", "eu", 20)
	w.node("small", "eu", 10)
	for i := range 15 {
		w.tenant(fmt.Sprintf("t%02d", i), "eu")
	}
	if big, small := w.nodeRecord("big").Tenants, w.nodeRecord("small").Tenants; big != 10 || small != 5 {
		t.Errorf("15 tenants spread %d to %d over nodes of 20 and 10", big, small)
	}
	_, err := w.tryTenant("lost", "nowhere")
	w.refused(err, "region_not_found")
}
