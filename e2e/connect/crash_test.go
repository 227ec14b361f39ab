package connect_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/e2e/harness"
)

// A node that is killed in the middle of publishes and started again has every message that it acknowledged, each once and
// where it said; the devices come back by themselves and what was not acknowledged is published by the same id.
func killed(t *testing.T, w *world) {
	const publishers, kills, between = 6, 3, time.Second
	node := w.nodes(1)[0]
	tenant, _, _ := w.tenant("t", node)
	owner := w.NewPhone(tenant, "owner", "desktop")
	reader := owner.Dial(owner.Through(node))
	box := w.subscribe(reader, owner, 0)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	acked := make([]map[string]int64, publishers)
	for i, p := range w.NewPhones(publishers, tenant, "member") {
		c := p.Dial(p.Through(node))
		acked[i] = map[string]int64{}
		all.Go(func() { publishUntil(ctx, t, c, p, acked[i]) })
	}
	for range kills {
		before := len(box.all())
		within(t, patience, "messages go through", func() bool { return len(box.all()) > before+publishers })
		node.Kill()
		node.Serves()
	}
	before := len(box.all())
	within(t, patience, "messages go through at last", func() bool { return len(box.all()) > before+publishers })
	stop()
	all.Wait()
	w.accounts(box, acked)
}

// publishUntil publishes one message after the other, and remembers what was acknowledged.
func publishUntil(ctx context.Context, t *testing.T, c *connectclient.Client, p *harness.Phone, acked map[string]int64) {
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s-%d", p.Principal[len(p.Principal)-6:], i)
		seq, err := c.Publish(ctx, p.Main(), id, fmt.Appendf(nil, "%d", i))
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Errorf("publish: %v", err)
			return
		}
		acked[id] = seq
	}
}

// accounts wants every message that was acknowledged delivered once, where that was said, and no sequence left out.
func (w *world) accounts(box *inbox, acked []map[string]int64) {
	w.t.Helper()
	last, sum := int64(0), 0
	for _, some := range acked {
		sum += len(some)
		for _, seq := range some {
			last = max(last, seq)
		}
	}
	seen := map[string]int64{}
	for i, m := range w.holds(box, int(last)) {
		if m.Seq != int64(i+1) {
			w.t.Fatalf("message %d has sequence %d", i, m.Seq)
		}
		if at, twice := seen[m.ID]; twice {
			w.t.Errorf("%s is there twice, at %d and %d", m.ID, at, m.Seq)
		}
		seen[m.ID] = m.Seq
	}
	for _, some := range acked {
		for id, seq := range some {
			if seen[id] != seq {
				w.t.Errorf("%s was acknowledged at %d, and is at %d", id, seq, seen[id])
			}
		}
	}
	w.t.Logf("%d messages were acknowledged, %d are there", sum, len(seen))
}

// Of two processes with one identity the younger serves: the devices of the older are sent away, and come back to the
// younger, which has every message that was there when the disk was copied.
func twoProcesses(t *testing.T, w *world) {
	older := w.nodes(1)[0]
	tenant, _, _ := w.tenant("t", older)
	p := w.NewPhone(tenant, "owner", "phone")
	first := p.Dial(p.Through(older))
	for i := range 5 {
		w.publish(first, p, fmt.Sprint("m", i))
	}
	bare := w.conn(p.Through(older))
	younger := older.Clone()
	o, seen := told(p.Through(older, younger))
	c := p.Dial(o)
	watch := harness.NewWatch(t, tenant, older, younger)
	younger.Serves()
	if code := older.Ends(patience); code != exitSuperseded {
		t.Errorf("the older one ended with %d", code)
	}
	if err := ends(t, bare, patience); err == nil {
		t.Error("a connection to the older one lives")
	}
	box := w.subscribe(c, p, 0)
	if seq := w.publish(c, p, "m5"); seq != 6 {
		t.Errorf("the next message has sequence %d; %s", seq, seen)
	}
	for i, m := range w.holds(box, 6) {
		if m.ID != fmt.Sprint("m", i) {
			t.Errorf("message %d is %s", i, m.ID)
		}
	}
	harness.OneWriter(t, watch.Samples())
}

const exitSuperseded = 3

// An empty tenant moves with its devices connected: each is sent away once at most, and goes on where it is by then.
func movesEmpty(t *testing.T, w *world) {
	nodes := w.nodes(2)
	tenant, holder, others := w.tenant("t", nodes...)
	p := w.NewPhone(tenant, "owner", "phone")
	all := append(w.NewPhones(5, tenant, "member"), p)
	var clients []*connectclient.Client
	var boxes []*inbox
	var logs []*events
	for i, one := range all {
		o, seen := told(one.Through(nodes[i%2]))
		o.Dial = one.Through(nodes...).Dial
		c := one.Dial(o)
		clients, boxes, logs = append(clients, c), append(boxes, w.subscribe(c, one, 0)), append(logs, seen)
	}
	m := w.move(tenant, others[0])
	if m.State != "done" {
		t.Fatalf("the migration ended as %+v", m)
	}
	w.publish(clients[5], p, "after")
	for i, box := range boxes {
		w.holds(box, 1)
		if gone := logs[i].goaways(); len(gone) > 1 || len(gone) == 1 && gone[0] != contract.GoawayMoved || logs[i].connections() > 2 {
			t.Errorf("device %d: %s", i, logs[i])
		}
	}
	others[0].Within(patience, "the target writes", func() bool { return others[0].MayWrite(tenant) })
	if holder.MayWrite(tenant) {
		t.Error("the source may write")
	}
}

// move moves a tenant and waits for the end of it.
func (w *world) move(tenant string, to *harness.Relay) (m contract.Migration) {
	w.t.Helper()
	begun, err := w.Operator().BeginMigration(w.t.Context(), tenant, contract.NewMigration{TargetNode: to.ID})
	must(w.t, err)
	within(w.t, 2*patience, "the migration has ended", func() bool {
		m, err = w.Operator().Migration(w.t.Context(), tenant, begun.ID, 0)
		must(w.t, err)
		return m.EndedAt != nil
	})
	return m
}

// A tenant that has data is not moved, as nodes can not copy that yet: the migration fails and says why, and the tenant goes
// on where it is, with all of its messages.
func movesData(t *testing.T, w *world) {
	nodes := w.nodes(2)
	tenant, holder, others := w.tenant("t", nodes...)
	p := w.NewPhone(tenant, "owner", "phone")
	o, seen := told(p.Through(nodes...))
	c := p.Dial(o)
	box := w.subscribe(c, p, 0)
	w.publish(c, p, "before")
	m := w.move(tenant, others[0])
	if m.State != "failed" || m.Failure == nil {
		t.Fatalf("the migration ended as %+v", m)
	}
	t.Logf("the migration failed: %+v", *m.Failure)
	w.publish(c, p, "after")
	if got := w.holds(box, 2); got[0].ID != "before" || got[1].ID != "after" || got[1].Seq != 2 {
		t.Errorf("it was delivered %+v", got)
	}
	if at := w.Tenant(tenant).Placement; at.Node != holder.ID || at.Generation != 1 || at.State != "active" {
		t.Errorf("the tenant is %+v; %s", at, seen)
	}
}
