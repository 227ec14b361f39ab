package access_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/application/access"
	"berth/domain/authorization"
	"berth/domain/placement"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// What a control plane remembers of earlier polls never shows in an answer: whatever happens, and whatever is asked again,
// it answers as one that remembers nothing.
func TestRememberedBeliefsNeverShow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := housed(t)
		w.Settings.Limits.Principals = 6
		believed := []store.Known{w.known()}
		for i := range rapid.IntRange(1, 20).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
				w.shifts(t)
			} else {
				w.happens(t, i)
			}
			believed = append(believed, w.known())
			for range 2 {
				node := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "node")
				known := rapid.SampledFrom(believed).Draw(t, "belief")
				fresh := *w
				fresh.Access = w.replica(uint64(1000 + i))
				want, err := fresh.poll(node, 0, known)
				w.must(err)
				in := access.PollRequest{Caller: caller(node), Known: []store.Known{known}}
				if rapid.Bool().Draw(t, "by its body") {
					in.Body = sha256.Sum256(fmt.Append(nil, known))
				}
				if w.Unchanged(w.ctx, in.Caller, in.Body) && len(want) > 0 {
					t.Fatalf("%s believes %+v and was told that nothing changed, afresh %+v", node, known, want)
				}
				got, err := w.Poll(w.ctx, in)
				w.must(err)
				if !reflect.DeepEqual(got.Entries, want) {
					t.Fatalf("%s believes %+v and was answered %+v, afresh %+v", node, known, got, want)
				}
			}
		}
	})
}

// shifts writes another place of the tenant, any that the store takes.
func (w *world) shifts(t *rapid.T) {
	one := rapid.SampledFrom([]string{"a", "b", "c"})
	at := w.placement()
	at.Node, at.Version = one.Draw(t, "holder"), at.Version+1
	at.Generation += int64(rapid.IntRange(0, 1).Draw(t, "generation"))
	at.State, at.Migration, at.Source, at.Target = placement.Active, "", "", ""
	if rapid.Bool().Draw(t, "in a migration") {
		at.State, at.Migration = placement.Copying, "mig"
		at.Source, at.Target = at.Node, one.Draw(t, "target")
	}
	w.do(func(ctx context.Context, r *store.Roles) error { return r.Placements.Save(ctx, placement.Restore(at)) })
}

// A poll about which nothing changed reads the pulse alone; one that follows a change reads in full again.
func TestUnchangedPollsAreCheap(t *testing.T) {
	t.Parallel()
	w, _, _ := couple(t)
	counted := &countedViews{Store: w.mem}
	w.Access.Store = counted
	asks := func(what string, views int) {
		t.Helper()
		known := w.known()
		counted.views = 0
		entries, err := w.poll("a", 0, known)
		w.must(err)
		if len(entries) != 0 || counted.views != views {
			t.Fatalf("%s: %d views, want %d; answered %+v", what, counted.views, views, entries)
		}
	}
	asks("the first", 1)
	asks("the same again", 0)
	_, err := w.CreateTenant(w.ctx, create("elsewhere", "us"))
	w.must(err)
	asks("after a change elsewhere", 0)
	w.pair(7, "member")
	asks("after a change of the tenant", 1)
	asks("the same again", 0)
}

// A body that was answered before is known by itself, to its node, until something changes; one that asks to wait is
// looked at again each time, since an answer at once would not be a wait.
func TestRepeatedBodies(t *testing.T) {
	t.Parallel()
	w, _, _ := couple(t)
	body := sha256.Sum256([]byte("a body"))
	polls := func(wait time.Duration, body [32]byte) {
		t.Helper()
		ctx, cancel := context.WithCancel(w.ctx)
		in := access.PollRequest{Caller: caller("a"), Known: []store.Known{w.known()}, Wait: wait, Body: body}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = w.Poll(ctx, in)
		}()
		if wait > 0 {
			w.awaitTimer() // it looked, and found nothing to say
			cancel()
		}
		<-done
		cancel()
	}
	knows := func(what string, want bool, node string, body [32]byte) {
		t.Helper()
		if got := w.Unchanged(w.ctx, caller(node), body); got != want {
			t.Fatalf("%s: unchanged is %t", what, got)
		}
	}
	knows("before any poll", false, "a", body)
	polls(0, body)
	knows("the same again", true, "a", body)
	knows("the same of another node", false, "b", body)
	knows("another body", false, "a", sha256.Sum256([]byte("another")))
	knows("no body", false, "a", [32]byte{})
	w.pair(7, "member")
	knows("after a change", false, "a", body)
	waiting := sha256.Sum256([]byte("a body with a wait"))
	polls(time.Second, waiting)
	knows("one that waited", false, "a", waiting)
	w.mem.Inject(storetest.Faults{Begin: storetest.Unavailable})
	knows("while the store is away", false, "a", body)
}

type countedViews struct {
	store.Store
	views int
}

func (c *countedViews) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	c.views++
	return c.Store.View(ctx, fn)
}

// A poll costs the same however many tenants it names, once it was found true.
func BenchmarkPollUnchanged(b *testing.B) {
	for _, tenants := range []int{1, 500, 2000} {
		b.Run(fmt.Sprint(tenants), func(b *testing.B) {
			w := newWorld(b)
			known := make([]store.Known, tenants)
			w.do(func(ctx context.Context, r *store.Roles) error {
				for i := range known {
					known[i] = store.Known{Tenant: fmt.Sprintf("tenant-%06d", i), Generation: 1, Revision: 1}
					if err := stands(ctx, r, known[i].Tenant, "a"); err != nil {
						return err
					}
				}
				return nil
			})
			b.ReportAllocs()
			for b.Loop() {
				if entries, err := w.poll("a", 0, known...); err != nil || len(entries) != 0 {
					b.Fatal(err, entries)
				}
			}
		})
	}
}

// stands makes a tenant that a node holds.
func stands(ctx context.Context, r *store.Roles, tenant, node string) error {
	head := authorization.TenantRecord{ID: tenant, Status: authorization.TenantActive, Revision: 1, Floor: 1}
	at := placement.Record{Tenant: tenant, HomeRegion: "eu", Node: node, Generation: 1, Version: 1, State: placement.Active, ChangedAt: noon}
	return errors.Join(r.Tenants.Create(ctx, authorization.RestoreTenant(head)), r.Placements.Create(ctx, placement.Restore(at)))
}

// After a failover to a copy that lost something, the same number of a pulse stands for another history: what was found
// true before is looked at again.
func TestRememberedBeliefsEndWithTheDatabase(t *testing.T) {
	t.Parallel()
	w := housed(t)
	behind := w.mem.Copy()
	w.pair(1, authorization.Owner)
	lost := w.known()
	for range 2 {
		if entries, err := w.poll("a", 0, lost); err != nil || len(entries) != 0 {
			t.Fatal(err, entries)
		}
	}
	pulse, err := w.mem.Pulse(w.ctx, "a")
	w.must(err)
	w.mem.FailOver(behind, "promoted")
	for { // other changes of the node's, as many as were lost
		now, err := w.mem.Pulse(w.ctx, "a")
		w.must(err)
		if now.Number == pulse.Number {
			break
		}
		w.do(func(ctx context.Context, r *store.Roles) error {
			p, err := r.Placements.Get(ctx, "acme")
			return errors.Join(err, r.Placements.Save(ctx, p))
		})
	}
	entries, err := w.poll("a", 0, lost)
	w.must(err)
	if len(entries) != 1 || entries[0].Result != access.PollSnapshotNeeded {
		t.Fatalf("a belief of the lost history was answered %+v", entries)
	}
}
