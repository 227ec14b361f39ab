package relay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/engine"
)

// A node that stops tells every device, and each when to come back: 5,000 of them over ten seconds. What is in flight is
// acknowledged or not, and what is acknowledged is there.
func TestShutdown(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		const tenants, each = 10, 500
		r.tune = func(s *relay.Settings) { s.ConnectionsPerPrincipal = each }
		for i := range tenants {
			r.control.AddTenant(fmt.Sprintf("m%d", i), "n0")
		}
		r.up()
		var phones []*phone
		for i := range tenants {
			first := phoneOf(r.control.Pair(fmt.Sprintf("m%d", i), authorization.Owner))
			for range each {
				p := phoneOf(first.Paired)
				if err := p.enter(r.t.Context(), r.node); err != nil {
					t.Fatal(err)
				}
				phones = append(phones, p)
			}
		}
		acknowledged := make(chan string, tenants*each)
		for i, p := range phones {
			id := fmt.Sprintf("m%d", i)
			p.session.Publish(relay.Publish{Handle: p.Handles["main"], ID: id, Body: []byte("1")}, func(_ int64, err error) {
				if err == nil {
					acknowledged <- p.Tenant + "/" + id
				}
			})
		}
		node := r.node
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		var bins [10]int
		for i, p := range phones {
			if p.end() != "shutdown" {
				t.Fatalf("device %d ended by %q", i, p.end())
			}
			if p.retry() >= 11*time.Second {
				t.Fatalf("device %d comes back after %v", i, p.retry())
			}
			bins[min(9, int(p.retry()/time.Second))]++
		}
		for second, n := range bins {
			if n < each/2 || n > 2*each {
				t.Errorf("%d devices come back in second %d", n, second)
			}
		}
		if s := node.Status(); s.Sessions != 0 || s.Engines != 0 {
			t.Errorf("%d sessions and %d Engines are left", s.Sessions, s.Engines)
		}
		if err := phones[0].enter(r.t.Context(), node); fault.SlugOf(err) != "stopping" {
			t.Errorf("into a stopped node: %v", err)
		}
		if _, err := phones[0].publishes("main", "late", "1"); err == nil {
			t.Error("a stopped node takes a message")
		}
		r.has(acknowledged)
	})
}

// has looks for what was acknowledged on the disk.
func (r *rig) has(acknowledged chan string) {
	r.t.Helper()
	close(acknowledged)
	there := map[string]map[string]bool{}
	for one := range acknowledged {
		tenant, id, _ := strings.Cut(one, "/")
		if there[tenant] == nil {
			there[tenant] = map[string]bool{}
			e, err := r.disk.Open(r.t.Context(), tenant)
			if err != nil {
				r.t.Fatal(err)
			}
			all, err := e.Read(r.t.Context(), engine.Range{Route: "main", UpTo: 1 << 40, Bytes: 1 << 30})
			if err != nil {
				r.t.Fatal(err)
			}
			for _, m := range all {
				there[tenant][m.ID] = true
			}
			_ = e.Close()
		}
		if !there[tenant][id] {
			r.t.Fatalf("%s was acknowledged and is not there", one)
		}
	}
}

// After a restart nothing is served, and nothing opened, by what is on the disk: not before a snapshot came that was asked for
// since (P8).
func TestStartOpensNothingBeforeASnapshot(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Owner)
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		r.empty = true
		r.spoiled(only("Snapshot", true))
		r.start()
		r.within(5*time.Second, "it has a lease", func() bool { return r.node.Status().Ready() })
		for range 5 {
			if err := p.enter(r.t.Context(), r.node); fault.KindOf(err) != fault.Unavailable {
				t.Fatalf("it is let in: %v", err)
			}
			if slug := r.write(); slug == "" || r.node.Status().Engines != 0 {
				t.Fatalf("it may be written, or is open: %q", slug)
			}
		}
		r.spoiled(nil)
		r.within(10*time.Second, "it is let in", func() bool { return p.enter(r.t.Context(), r.node) == nil })
	})
}

// A node that is being emptied sends the devices away that were there, over a time, and none twice.
func TestDraining(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.ConnectionsPerPrincipal = 300 }
		r.start()
		first := r.connected(authorization.Owner)
		phones := []*phone{first}
		for range 299 {
			p := phoneOf(first.Paired)
			if err := p.enter(r.t.Context(), r.node); err != nil {
				t.Fatal(err)
			}
			phones = append(phones, p)
		}
		ended := func() (n int) {
			for _, p := range phones {
				if end := p.end(); end == "draining" {
					n++
				} else if end != "" {
					t.Fatalf("ended by %q", end)
				}
			}
			return n
		}
		r.drains.Store(true)
		r.within(6*time.Second, "it begins", func() bool { return ended() > 0 })
		came := phoneOf(r.visitor)
		if err := came.enter(r.t.Context(), r.node); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		if n := ended(); n < 60 || n > 160 {
			t.Fatalf("%d of 300 are sent away within ten seconds of thirty", n)
		}
		pass(21 * time.Second)
		if n := ended(); n != 300 || came.end() != "" {
			t.Fatalf("%d of 300 are sent away, and who came since by %q", n, came.end())
		}
	})
}
