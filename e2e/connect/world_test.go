package connect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/e2e/harness"
)

// world is a scenario's part of a site: a region of its own.
type world struct {
	*harness.Site
	t      *testing.T
	region string
}

func open(t *testing.T, site *harness.Site, region string) *world {
	t.Helper()
	w := &world{site.In(t), t, region}
	w.NewRegion(region)
	return w
}

// nodes starts nodes of the region, with further settings in pairs.
func (w *world) nodes(n int, settings ...string) []*harness.Relay {
	w.t.Helper()
	all := w.defined(n, settings...)
	for _, r := range all {
		r.Serves()
	}
	return all
}

// shipped starts nodes as they are shipped, to measure them.
func (w *world) shipped(n int, settings ...string) []*harness.Relay {
	w.t.Helper()
	all := w.defined(n, settings...)
	for _, r := range all {
		r.AsShipped()
		r.Serves()
	}
	return all
}

func (w *world) defined(n int, settings ...string) (all []*harness.Relay) {
	w.t.Helper()
	settings = append([]string{"PEER_REFRESH", "1s"}, settings...)
	for i := range n {
		r := w.Relay(fmt.Sprintf("%s-%c", w.region, 'a'+i), w.region)
		for j := 0; j+1 < len(settings); j += 2 {
			r.Extra[settings[j]] = settings[j+1]
		}
		all = append(all, r)
	}
	return all
}

// tenant makes a tenant, and says which of the nodes has it and which are the others.
func (w *world) tenant(id string, nodes ...*harness.Relay) (tenant string, holder *harness.Relay, others []*harness.Relay) {
	w.t.Helper()
	tenant = w.region + "-" + id
	on := w.NewTenant(tenant, w.region).Placement.Node
	for _, r := range nodes {
		if r.ID == on {
			holder = r
			continue
		}
		others = append(others, r)
	}
	return tenant, holder, others
}

// patience is how long a test waits for what happens by itself.
const patience = 30 * time.Second

// within waits until something is so.
func within(t *testing.T, bound time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(bound)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("after %s it is not so that %s", bound, what)
		}
	}
}

// events are what became of a client's connection.
type events struct {
	mu  sync.Mutex
	all []connectclient.Event
}

// told has options tell their events.
func told(o connectclient.Options) (connectclient.Options, *events) {
	e := &events{}
	o.Notify = func(one connectclient.Event) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.all = append(e.all, one)
	}
	return o, e
}

// connections is how often it was connected so far.
func (e *events) connections() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, one := range e.all {
		if one.Connected {
			n++
		}
	}
	return n
}

// goaways are the reasons of the goaways so far.
func (e *events) goaways() (reasons []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.all {
		if g, ok := errors.AsType[*connectclient.Goaway](one.Err); ok {
			reasons = append(reasons, g.Reason)
		}
	}
	return reasons
}

// String is all of it, for a failure.
func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out strings.Builder
	for _, one := range e.all {
		fmt.Fprintf(&out, "connected %t, %v; ", one.Connected, one.Err)
	}
	return out.String()
}

// inbox is what a subscription delivered.
type inbox struct {
	mu   sync.Mutex
	seen []connectclient.Message
}

// subscribe takes the messages of the tenant's main route after a sequence.
func (w *world) subscribe(c *connectclient.Client, p *harness.Phone, after int64) *inbox {
	w.t.Helper()
	b := &inbox{}
	_, _, err := c.Subscribe(w.t.Context(), p.Main(), after, func(m connectclient.Message) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.seen = append(b.seen, m)
	})
	must(w.t, err)
	return b
}

// all is what was delivered so far.
func (b *inbox) all() []connectclient.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.seen)
}

// holds waits until so many messages were delivered.
func (w *world) holds(b *inbox, n int) []connectclient.Message {
	w.t.Helper()
	within(w.t, patience, fmt.Sprintf("%d messages are delivered", n), func() bool { return len(b.all()) >= n })
	return b.all()
}

// publish publishes a text and wants it acknowledged.
func (w *world) publish(c *connectclient.Client, p *harness.Phone, id string) (seq int64) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	seq, err := c.Publish(ctx, p.Main(), id, []byte(`{"text":"`+id+`"}`))
	if err != nil {
		w.t.Fatalf("publish %s: %v", id, err)
	}
	return seq
}

// conn connects bare, once the node knows its peers and the device.
func (w *world) conn(o connectclient.Options) (c *connectclient.Conn) {
	w.t.Helper()
	var err error
	within(w.t, patience, "it is let in", func() bool {
		c, err = connectclient.Connect(w.t.Context(), o)
		return err == nil || fault.KindOf(err) != fault.Unavailable && fault.SlugOf(err) != "principal_unknown"
	})
	must(w.t, err)
	w.t.Cleanup(c.Abort)
	return c
}

// ends waits until a bare connection ends, and returns why.
func ends(t *testing.T, c *connectclient.Conn, bound time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	for {
		if _, err := c.Receive(ctx); err != nil {
			if ctx.Err() != nil {
				t.Fatalf("after %s the connection has not ended", bound)
			}
			return err
		}
	}
}

// reason is that of a goaway; empty for any other end.
func reason(err error) string {
	if g, ok := errors.AsType[*connectclient.Goaway](err); ok {
		return g.Reason
	}
	return ""
}

// subscribed sends a subscription over a bare connection and waits for its answer.
func (w *world) subscribed(c *connectclient.Conn, p *harness.Phone) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	must(w.t, c.Send(ctx, contract.Frame{Op: contract.OpSubscribe, Handle: p.Main(), After: new(int64)}))
	f, err := c.Receive(ctx)
	if err != nil || f.Op != contract.OpSubscribed {
		w.t.Fatalf("subscribe: %+v %v", f, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
