package desired_test

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// counted is a store that counts what it is asked.
type counted struct {
	store.Store
	polls, others atomic.Int64
}

func (c *counted) Poll(ctx context.Context, agent string) (store.Polled, error) {
	c.polls.Add(1)
	return c.Store.Poll(ctx, agent)
}

func (c *counted) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	c.others.Add(1)
	return c.Store.View(ctx, fn)
}

func (c *counted) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	c.others.Add(1)
	return c.Store.Atomically(ctx, fn)
}

// A poll with nothing new is one read, whatever the length of the history (G2).
func TestAPollWithNothingNewIsOneRead(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	for _, version := range []string{"1.0.0", "2.0.0", "1.0.0"} {
		w.selected(choice("db", version))
	}
	a := w.enroll(1)
	a.follow()
	watched := &counted{Store: w.mem}
	on := w.replica(watched, 2)
	for range 3 {
		answer, err := a.poll(on)
		w.must(err)
		if !answer.Unchanged || answer.ETag != a.held || answer.Token != "" {
			t.Fatalf("%+v", answer)
		}
	}
	if polls, others := watched.polls.Load(), watched.others.Load(); polls != 3 || others != 0 {
		t.Fatalf("%d reads and %d transactions for 3 polls", polls, others)
	}
}

// A poll that waits is answered by the change that it waits for, and by its time.
func TestAPollWaitsForWhatIsNew(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", "1.0.0"))
	a := w.enroll(1)
	a.follow()
	caller, err := a.caller(w.Desired)
	w.must(err)
	answers := make(chan desired.PollAnswer, 1)
	poll := func() {
		answer, err := w.Poll(w.ctx, desired.PollRequest{Caller: caller, Held: a.held, Wait: 30 * time.Second})
		if err != nil {
			t.Error(err)
		}
		answers <- answer
	}
	go poll()
	w.must(w.clock.AwaitTimers(w.ctx, 1))
	w.selected(choice("db", "2.0.0"))
	if answer := <-answers; answer.Unchanged || w.payload(answer.Token).Apps[0].Version != "2.0.0" {
		t.Fatalf("%+v", answer)
	}
	a.follow()
	caller, err = a.caller(w.Desired)
	w.must(err)
	go poll()
	for range 6 { // without any hint it reads again by itself
		w.must(w.clock.AwaitTimers(w.ctx, 1))
		w.clock.Advance(5 * time.Second)
	}
	if answer := <-answers; !answer.Unchanged {
		t.Fatalf("%+v", answer)
	}
}

// An expired license: what runs goes on until the end of the grace, is suspended by the first poll after it without any
// sweep, and comes back exactly as it was with the renewal (E6).
func TestExpiryBitesAtThePollAndRenewalRestores(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", "", "replicas", "2", "password", "s3cret"), choice("blog", ""))
	a := w.enroll(1)
	a.follow()
	before := a.state
	w.clock.Advance(32 * day) // expired, within the grace
	a.follow()
	if !reflect.DeepEqual(a.state, before) {
		t.Fatalf("%+v", a.state)
	}
	w.clock.Advance(day) // the grace is over
	a.follow()
	if got := a.runs(); got != "blog 1.0.0 suspended, db 2.0.0 suspended" {
		t.Fatal(got)
	}
	if list, _, _ := w.History(w.ctx, install, 0, 1); list[0].Reason != entitlement.WhyExpired || list[0].Actor.ID != "berth" {
		t.Fatalf("%+v", list[0])
	}
	w.renew(w.clock.Now().Add(30 * day))
	a.follow()
	for i := range a.state.Apps {
		if !a.state.Apps[i].RunUntil.Equal(w.clock.Now().Add(33 * day)) {
			t.Fatalf("%+v", a.state.Apps[i])
		}
		a.state.Apps[i].RunUntil = before.Apps[i].RunUntil
	}
	if !reflect.DeepEqual(a.state.Apps, before.Apps) {
		t.Fatalf("it came back as %+v\nand was %+v", a.state.Apps, before.Apps)
	}
	if list, _, _ := w.History(w.ctx, install, 0, 1); list[0].Reason != "license renewed" {
		t.Fatalf("%+v", list[0].Reason)
	}
}

// A withdrawn app: it runs until its grace is over, its neighbours go on, and granted again it comes back.
func TestAWithdrawnAppIsSuspendedAfterItsGrace(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("by intent", "db", "2.0.0", "blog", "1.0.0"))
	a := w.enroll(1)
	a.follow()
	before := a.state.Apps
	w.do(func(ctx context.Context, r *store.Roles) error { w.entitle(ctx, r, "shop", "db"); return nil })
	a.follow()
	if got := a.runs(); got != "blog 1.0.0, db 2.0.0" {
		t.Fatal(got)
	}
	if until := a.state.Apps[0].RunUntil; !until.Equal(w.clock.Now().Add(3 * day)) {
		t.Fatalf("a cluster that is cut off runs it until %s", until)
	}
	w.clock.Advance(3*day + time.Second)
	if n, err := w.SweepReviews(w.ctx); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	a.follow()
	if got := a.runs(); got != "blog 1.0.0 suspended, db 2.0.0" {
		t.Fatal(got)
	}
	w.do(func(ctx context.Context, r *store.Roles) error { w.entitle(ctx, r, "shop", "db", "blog"); return nil })
	a.follow()
	if !reflect.DeepEqual(a.state.Apps, before) {
		t.Fatalf("it came back as %+v\nand was %+v", a.state.Apps, before)
	}
	if head := w.head(); head.Usage.Apps != 2 {
		t.Fatal("what is suspended counts, since it comes back", head.Usage)
	}
}

// What an operator does to a license bites at once, also for one who waits.
func TestARevokedLicenseStopsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("by intent", "db", "2.0.0"))
	a := w.enroll(1)
	a.follow()
	w.license(func(l *entitlement.License) error { return l.Revoke(w.clock.Now()) })
	a.follow()
	if got := a.runs(); got != "db 2.0.0 suspended" {
		t.Fatal(got)
	}
}

// Sweeps on several replicas do the same once, and nothing where nothing is due.
func TestSweepsAreIdempotent(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("by intent", "db", "2.0.0"))
	w.clock.Advance(40 * day)
	replicas := []*desired.Desired{w.Desired, w.replica(w.mem, 2), w.replica(w.mem, 3)}
	done := make(chan error, len(replicas))
	for _, on := range replicas {
		go func() { _, err := on.SweepReviews(w.ctx); done <- err }()
	}
	for range replicas {
		w.must(<-done)
	}
	if head := w.head(); head.Revision != 2 || !head.Apps[0].Suspended {
		t.Fatalf("%+v", head)
	}
	if n, err := w.SweepReviews(w.ctx); n != 0 || err != nil {
		t.Fatal(n, err)
	}
}

// An agent that knows a later revision is told that the control plane is behind, and nothing else; the head is frozen until
// an operator leaps, and after that the agent follows, without anything being removed by it (D4).
func TestAnOlderDatabaseRemovesNothing(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0", "blog", "1.0.0"))
	a := w.enroll(1)
	a.follow()
	w.publish(removing("blog"))
	older := w.mem.Copy()
	w.publish(putting("again", "blog", "1.0.0"))
	w.publish(putting("more", "shop", "1.1.0"))
	a.follow()
	ran := a.runs()

	w.mem.FailOver(older, "restored")
	_, err := a.poll(w.Desired)
	w.refused(err, fault.Conflict, "desired_state_behind")
	_, err = w.Publish(w.ctx, putting("by hand", "shop", "1.0.0"))
	w.refused(err, fault.Conflict, "desired_state_frozen")
	w.refused(a.reports("db", "2.0.0", "healthy"), fault.Conflict, "desired_state_behind")
	a.sequence--
	if head := w.head(); !head.Frozen || head.Claimed != a.state.Revision || head.Proven >= a.state.Revision {
		t.Fatalf("%+v", head)
	}
	other := w.stranger(2)
	_, err = other.ask("be_" + strings.Repeat("a", 32))
	w.refused(err, fault.Unauthenticated, "enrolment_token_unknown")

	caller, err := a.caller(w.Desired)
	w.must(err)
	w.must(w.Prove(w.ctx, desired.ProveRequest{Caller: caller, DesiredState: a.token}))
	if head := w.head(); head.Proven != a.state.Revision {
		t.Fatalf("%+v", head)
	}
	_, err = w.Leap(w.ctx, desired.LeapRequest{Actor: alice, Install: install})
	w.refused(err, fault.Invalid, "note_required")
	out, err := w.Leap(w.ctx, desired.LeapRequest{Actor: alice, Install: install, Note: "restored the copy of Monday"})
	w.must(err)
	if out.Head.Revision != a.state.Revision+delivery.LeapBy {
		t.Fatalf("%d", out.Head.Revision)
	}
	proven := a.state
	a.follow()
	if got := a.runs(); strings.Contains(got, "removed") || got != "db 2.0.0" {
		t.Fatalf("it ran %s (%+v), and is told %s", ran, proven, got)
	}
	w.must(a.reports("db", "2.0.0", "healthy"))
}

func removing(apps ...string) desired.Proposal {
	return desired.Proposal{
		Install: install, Actor: alice, Reason: "removed",
		Decide: func(desired.Situation) (delivery.Edit, error) { return delivery.Edit{Remove: apps}, nil },
	}
}

// Whatever happened in the lost history and whatever is done on the restored copy, before or after the agent speaks: the
// agent accepts no removal from it before a leap.
func TestNoAnswerOfAnOlderCopyIsAnAcceptedRemoval(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := stocked(t)
		w.publish(putting("one", "db", "2.0.0", "blog", "1.0.0"))
		a := w.enroll(1)
		a.follow()
		step := func(label string) {
			app := rapid.SampledFrom([]string{"db", "blog", "shop"}).Draw(t, label)
			p := putting(label, app, rapid.SampledFrom([]string{"1.0.0", "2.0.0"}).Draw(t, "version"))
			if there, _ := w.running(app); there && rapid.Bool().Draw(t, "remove") {
				p = removing(app)
			}
			w.clock.Advance(time.Second) // no two histories sign the same
			_, err := w.Publish(w.ctx, p)
			if fault.SlugOf(err) != "desired_state_frozen" {
				w.must(err)
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "shared") {
			step("shared")
		}
		if rapid.Bool().Draw(t, "follows") {
			a.follow()
		}
		older := w.mem.Copy()
		before := w.head().Revision
		for range rapid.IntRange(1, 3).Draw(t, "lost") {
			step("lost")
		}
		lost := w.head().Revision > before
		a.follow()
		knows := a.state
		w.mem.FailOver(older, "restored")
		for range rapid.IntRange(0, 6).Draw(t, "on the copy") {
			if step("on the copy"); rapid.Bool().Draw(t, "polls") {
				_, _ = a.poll(w.Desired)
			}
		}
		_, err := a.poll(w.Desired)
		if !lost {
			return
		}
		if fault.SlugOf(err) != "desired_state_behind" || !reflect.DeepEqual(a.state, knows) {
			t.Fatalf("%v: from %+v to %+v", err, knows, a.state)
		}
	})
}

// leaping is a store whose next transaction comes just after something else.
type leaping struct {
	store.Store
	before func()
}

func (l *leaping) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	return l.Store.Atomically(ctx, fn)
}

// A leap that comes between a review's look at a frozen head and what it makes of it is not undone: the deployment stays
// due, so that an expiry bites.
func TestALeapDuringAReviewStaysDue(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0"))
	w.do(func(ctx context.Context, r *store.Roles) error {
		return store.UpdateIn[*delivery.Desired](ctx, r.DesiredStates, install, func(v *delivery.Desired) error {
			next, _ := v.Claimed(99)
			*v = *next
			return nil
		})
	})
	w.must(w.replica(&leaping{w.mem, func() {
		_, err := w.Leap(w.ctx, desired.LeapRequest{Actor: alice, Install: install, Note: "found out"})
		w.must(err)
	}}, 2).Review(w.ctx, install))
	w.view(func(ctx context.Context, r *store.Roles) error {
		d, err := r.Deployments.Get(ctx, install)
		if err == nil && d.Record().ReviewAt.IsZero() {
			t.Error("nobody looks at it again")
		}
		return err
	})
}

func (w *world) running(app string) (bool, delivery.DesiredApp) {
	for _, a := range w.head().Apps {
		if a.App == app && !a.Removed {
			return true, a
		}
	}
	return false, delivery.DesiredApp{}
}

// A signature for another deployment, or of another sort, proves nothing.
func TestWhatProvesNothing(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0"))
	a := w.enroll(1)
	a.follow()
	caller, err := a.caller(w.Desired)
	w.must(err)
	prove := func(token string) error {
		return w.Prove(w.ctx, desired.ProveRequest{Caller: caller, DesiredState: token})
	}
	w.must(prove(a.token))
	if head := w.head(); head.Frozen {
		t.Fatal("a proof of this very history froze it")
	}
	w.refused(prove(string(w.unpackedSignature())), fault.Unauthenticated, "document_type")
	other, err := w.CreateDeployment(w.ctx, desired.CreateDeploymentRequest{Actor: alice, Customer: "acme", License: license, Namespace: "other"})
	w.must(err)
	w.refused(prove(other.Head.Token), fault.Forbidden, "proof_of_another")
}

func (w *world) unpackedSignature() []byte { return w.unpacked()["manifest.jws"] }

// While the database is away nothing is told, and nothing is taken for a removal.
func TestAPollWithoutADatabaseTellsNothing(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0"))
	a := w.enroll(1)
	w.mem.Inject(storetest.Faults{Begin: storetest.Always(storetest.Unavailable())})
	_, err := a.poll(w.Desired)
	w.refused(err, fault.Unavailable, "store_unavailable")
}
