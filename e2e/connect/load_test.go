package connect_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/e2e/harness"
)

// What is to be seen under load, one after the other and alone on a deployment: how long a revoke takes to reach its device
// among 1,000 that are connected, by hints and without any, and how 5,000 devices come back to a node that was restarted.
func TestLoad(t *testing.T) {
	site := harness.NewSite(t)
	for _, scenario := range []struct {
		name string
		run  func(*testing.T, *world)
	}{{"revoke", revokeUnderLoad}, {"return", thousandsReturn}} {
		t.Run(scenario.name, func(t *testing.T) { scenario.run(t, open(t, site, scenario.name)) })
	}
}

// crowd is how many devices are connected while others are revoked.
const crowd = 1000

// revokeUnderLoad has a tenant with 1,000 connections, revokes devices one after the other, and looks when each connection
// ends; then the same while no hint arrives: what a poll finds out is as certain, though not as quick.
func revokeUnderLoad(t *testing.T, w *world) {
	const each, byPoll = 100, 20
	node := w.shipped(1)[0]
	tenant, _, _ := w.tenant("t", node)
	owner := w.NewPhone(tenant, "owner", "desktop")
	victims := w.NewPhones(2*each+byPoll, tenant, "member")
	idle := w.NewPhones((crowd-len(victims))/perPrincipal, tenant, "member")
	lines := make([]*line, len(victims))
	first := owner.Dial(owner.Through(node))
	w.publish(first, owner, "the-tenant-is-open")
	must(t, first.Close())
	harness.Each(t, len(victims), func(i int) (err error) {
		lines[i], err = w.line(victims[i].Through(node))
		return err
	})
	harness.Each(t, perPrincipal*len(idle), func(i int) error {
		_, err := w.line(idle[i/perPrincipal].Through(node))
		return err
	})
	c := owner.Dial(owner.Through(node))
	w.publish(c, owner, "all-are-there")
	t.Logf("%.0f devices are connected", node.Metric("berth_relay_device_connections"))

	operator := func(p *harness.Phone) error {
		_, err := w.Operator().Revoke(t.Context(), tenant, p.Principal)
		return err
	}
	device := func(p *harness.Phone) error { _, err := c.Revoke(t.Context(), p.Principal); return err }
	measured(t, "an operator's revoke, with hints", w.revoke(victims[:each], lines[:each], operator), time.Second)
	measured(t, "an owner's device's revoke", w.revoke(victims[each:2*each], lines[each:2*each], device), time.Second)

	over := make(chan struct{})
	defer close(over)
	var held atomic.Int64
	for _, tap := range w.Upstream { // what waits for a hint from now on is never answered
		defer tap.On(waits(node.ID), func(func() int) bool { held.Add(1); <-over; return false })()
	}
	within(t, 2*patience, "the last poll that could be hinted is over", func() bool { return held.Load() > 0 })
	rest := w.revoke(victims[2*each:], lines[2*each:], operator)
	const bound = 5*time.Second + 3*time.Second + time.Second // a poll, the snapshot after it, and what a busy machine takes
	measured(t, "an operator's revoke, without hints", rest, bound)
	w.publish(c, owner, "and-the-others-stay")
	if left := node.Metric("berth_relay_device_connections"); left < float64(perPrincipal*len(idle)) {
		t.Errorf("%.0f devices are connected", left)
	}
}

// perPrincipal is how many connections one device has at a time.
const perPrincipal = 8

// waits matches a node's requests that wait for a hint.
func waits(node string) func(*http.Request, []byte) bool {
	path := harness.Path("POST", "/internal/v1/nodes/"+node+"/authorization/poll")
	return func(r *http.Request, body []byte) bool { return path(r, body) && !harness.Holding(`"wait":0`)(r, body) }
}

// line is a connection of which only its end is of interest.
type line struct {
	ended chan struct{}
	at    time.Time // then
	why   error
}

// line connects, and answers the node's pings until the connection ends.
func (w *world) line(o connectclient.Options) (*line, error) {
	c, err := connectclient.Connect(w.t.Context(), o)
	if err != nil {
		return nil, err
	}
	l := &line{ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		for l.why == nil {
			_, l.why = c.Receive(context.Background())
		}
		l.at = time.Now()
	}()
	w.t.Cleanup(func() { c.Abort(); <-l.ended })
	return l, nil
}

// took is how long a revoke took to end a connection: from when it was asked for, and from when it was known to be committed.
type took struct{ asked, committed time.Duration }

// revoke revokes devices one after the other and waits for each connection's end.
func (w *world) revoke(victims []*harness.Phone, lines []*line, revoke func(*harness.Phone) error) (all []took) {
	w.t.Helper()
	for i, p := range victims {
		began := time.Now()
		must(w.t, revoke(p))
		committed := time.Now()
		select {
		case <-lines[i].ended:
			all = append(all, took{lines[i].at.Sub(began), max(0, lines[i].at.Sub(committed))})
		case <-time.After(patience):
			w.t.Fatalf("a device that was revoked is connected %s later", patience)
		}
		if why := lines[i].why; reason(why) != contract.GoawayRevoked {
			w.t.Errorf("it ended with %v", why)
		}
	}
	return all
}

// measured prints what was measured, and fails where it is worse than it could be on a machine that has other things to do.
func measured(t *testing.T, what string, all []took, bound time.Duration) {
	t.Helper()
	show := func(of func(took) time.Duration) (p50, p99 time.Duration) {
		var sorted []time.Duration
		for _, one := range all {
			sorted = append(sorted, of(one))
		}
		slices.Sort(sorted)
		return sorted[len(sorted)/2], sorted[len(sorted)*99/100]
	}
	p50, p99 := show(func(o took) time.Duration { return o.committed })
	a50, a99 := show(func(o took) time.Duration { return o.asked })
	t.Logf("%s: committed to closed p50 %s, p99 %s; asked to closed p50 %s, p99 %s; %d of them", what, short(p50), short(p99), short(a50), short(a99), len(all))
	if p99 > bound {
		t.Errorf("%s: p99 %s, more than %s", what, p99, bound)
	}
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// thousandsReturn restarts a node that 5,000 devices are connected to: each comes back when it was told to, so that they do
// not come at once, and all are back soon after.
func thousandsReturn(t *testing.T, w *world) {
	const devices, tenants, soon = 5000, 5, time.Minute
	node := w.shipped(1)[0]
	var phones []*harness.Phone
	for i := range tenants {
		tenant, _, _ := w.tenant(fmt.Sprint("t", i), node)
		phones = append(phones, w.NewPhones(devices/tenants/perPrincipal, tenant, "member")...)
	}
	back := &returns{told: map[int]time.Time{}}
	began := time.Now()
	for i := range devices {
		o := phones[i/perPrincipal].Through(node)
		o.Notify = func(e connectclient.Event) { back.event(i, e) }
		phones[i/perPrincipal].Dial(o)
	}
	back.await(t, devices, 3*soon)
	t.Logf("%d devices connected for the first time in %s, up to %d a second", devices, time.Since(began).Round(time.Millisecond), back.peak())
	back.reset()
	node.Stop()
	node.Serves()
	up := time.Now()
	back.await(t, devices, 3*soon)
	t.Logf("after a restart all are back %s after the node was, up to %d a second; they were told to come within %s",
		time.Since(up).Round(time.Millisecond), back.peak(), back.latest().Round(time.Millisecond))
	if n := back.early; n > 0 {
		t.Errorf("%d devices came before they were told to", n)
	}
	if least := 2 * time.Second; back.latest() < least {
		t.Errorf("all were told to come within %s: at once", back.latest())
	}
}

// returns are when devices were sent away and when they came.
type returns struct {
	mu    sync.Mutex
	there map[int]bool
	told  map[int]time.Time // until when each is to stay away
	waits []time.Duration
	came  []time.Time
	early int
	last  map[string]int // why not, by the slug
}

// await waits until all are connected, and says where that stands when it takes too long.
func (r *returns) await(t *testing.T, devices int, bound time.Duration) {
	t.Helper()
	late := time.Now().Add(bound)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; r.connected() < devices; <-tick.C {
		if time.Now().After(late) {
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Fatalf("after %s %d connections were made, and these were not: %v", bound, len(r.came), r.last)
		}
	}
}

func (r *returns) event(i int, e connectclient.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.there == nil {
		r.there, r.last = map[int]bool{}, map[string]int{}
	}
	if e.Err != nil {
		r.last[fmt.Sprintf("%.90v", e.Err)]++
	}
	r.there[i] = e.Connected
	if e.Connected {
		r.came = append(r.came, now)
		if now.Before(r.told[i]) {
			r.early++
		}
	}
	if g, ok := errors.AsType[*connectclient.Goaway](e.Err); ok {
		r.told[i] = now.Add(g.RetryAfter)
		r.waits = append(r.waits, g.RetryAfter)
	}
}

func (r *returns) connected() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, there := range r.there {
		if there {
			n++
		}
	}
	return n
}

func (r *returns) reset() { r.mu.Lock(); defer r.mu.Unlock(); r.came, r.waits = nil, nil }

// latest is the longest that a device was told to stay away.
func (r *returns) latest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waits) == 0 {
		return 0
	}
	return slices.Max(r.waits)
}

// peak is how many came within a second, at most.
func (r *returns) peak() (most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := 0
	for i, at := range r.came {
		for at.Sub(r.came[first]) > time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
