package connect_test

import (
	"context"
	"sync"
	"testing"

	"berth/e2e/harness"
)

// crew is what a test publishes by, and reads by, while it ill-treats the nodes: each through one of them.
type crew struct {
	w     *world
	boxes []*inbox
	acked []map[string]int64
	stop  context.CancelFunc
	all   sync.WaitGroup
}

// crew has devices publish and follow a tenant's main route, through each of the nodes.
func (w *world) crew(tenant string, publishers int, through ...*harness.Relay) *crew {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	c := &crew{w: w, stop: stop}
	owner := w.NewPhone(tenant, "owner", "desktop")
	for _, node := range through {
		c.boxes = append(c.boxes, w.subscribe(owner.Dial(owner.Through(node)), owner, 0))
	}
	for i, p := range w.NewPhones(publishers, tenant, "member") {
		client, acked := p.Dial(p.Through(through[i%len(through)])), map[string]int64{}
		c.acked = append(c.acked, acked)
		c.all.Go(func() { publishUntil(ctx, w.t, client, p, acked) })
	}
	c.goOn()
	return c
}

// goOn waits until messages reach everybody again.
func (c *crew) goOn() {
	c.w.t.Helper()
	for _, b := range c.boxes {
		before := len(b.all())
		within(c.w.t, 2*patience, "messages go through", func() bool { return len(b.all()) > before+50 })
	}
}

// accounts wants everything that was acknowledged delivered once, in order, to all.
func (c *crew) accounts() {
	c.w.t.Helper()
	c.goOn()
	c.stop()
	c.all.Wait()
	for _, b := range c.boxes {
		c.w.accounts(b, c.acked)
	}
}

// A node that stands still for longer than its lease, its connections open, and wakes as if nothing had been, acknowledges
// nothing that is lost: those who publish through it, and through the other node, get on once it has a lease again.
func frozen(t *testing.T, w *world) {
	nodes := w.nodes(2)
	tenant, holder, others := w.tenant("t", nodes...)
	c := w.crew(tenant, 6, holder, others[0])
	watch := harness.NewWatch(t, tenant, nodes...)
	for _, node := range []*harness.Relay{holder, others[0]} {
		node.Pause()
		within(t, patience, "its lease is over", func() bool { return w.Node(node.ID).Lease.State == "lapsed" })
		node.Unpause()
		c.goOn()
	}
	c.accounts()
	harness.OneWriter(t, watch.Samples())
}

// A tenant that is suspended and resumed again and again loses none of its devices, and nothing that they publish.
func flickers(t *testing.T, w *world) {
	nodes := w.nodes(2)
	tenant, holder, others := w.tenant("t", nodes...)
	c := w.crew(tenant, 6, holder, others[0])
	for range 20 {
		_, err := w.Operator().Suspend(t.Context(), tenant)
		must(t, err)
		_, err = w.Operator().Resume(t.Context(), tenant)
		must(t, err)
	}
	c.accounts()
}

// An empty tenant that moves back and forth has its devices follow it, each sent away once a move at most.
func commutes(t *testing.T, w *world) {
	const moves = 10
	nodes := w.nodes(2)
	tenant, holder, others := w.tenant("t", nodes...)
	p := w.NewPhone(tenant, "owner", "phone")
	var boxes []*inbox
	var logs []*events
	for i, one := range append(w.NewPhones(5, tenant, "member"), p) {
		o, seen := told(one.Through(nodes[i%2]))
		boxes, logs = append(boxes, w.subscribe(one.Dial(o), one, 0)), append(logs, seen)
	}
	for i := range moves {
		if m := w.move(tenant, []*harness.Relay{others[0], holder}[i%2]); m.State != "done" {
			t.Fatalf("move %d ended as %+v", i, m)
		}
	}
	w.publish(p.Dial(p.Through(others[0])), p, "after")
	for i, box := range boxes {
		w.holds(box, 1)
		if n := len(logs[i].goaways()); n > moves {
			t.Errorf("device %d was sent away %d times in %d moves: %s", i, n, moves, logs[i])
		}
	}
}
