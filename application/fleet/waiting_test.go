package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"berth/application/fleet"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

func (w *world) assignments(node string, known int64, wait time.Duration) (fleet.AssignmentsAnswer, error) {
	return w.Assignments(w.ctx, fleet.AssignmentsRequest{Caller: caller(node), Known: known, Wait: wait})
}

// asleep waits until a request waits for its hint or its time.
func (w *world) asleep() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	if err := w.clock.AwaitTimers(ctx, 1); err != nil {
		w.t.Fatalf("nobody waits: %v", err)
	}
}

// passes moves the clock by d in steps of the time after which a request looks again.
func (w *world) passes(d time.Duration) {
	w.t.Helper()
	for ; d > 0; d -= w.Settings.Relook {
		w.asleep()
		w.clock.Advance(min(d, w.Settings.Relook))
	}
}

// received waits for what a goroutine of the test sends.
func received[T any](w *world, c <-chan T) T {
	w.t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		w.t.Fatalf("no answer came")
		panic("unreachable")
	}
}

type assigned struct {
	out fleet.AssignmentsAnswer
	err error
}

func (w *world) waitForAssignments(node string, known int64, wait time.Duration) <-chan assigned {
	c := make(chan assigned, 1)
	go func() {
		out, err := w.assignments(node, known, wait)
		c <- assigned{out, err}
	}()
	return c
}

// A node is told its part in each tenant: owner, source or target, with the migration and, once known, its manifest.
func TestAssignmentsTellEachNodeItsPart(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	out, err := w.assignments("a", 0, 0)
	w.must(err)
	if len(out.Placements) != 1 || out.Placements[0].Role != placement.RoleOwner || out.Version != w.nodeRecord("a").Assignments {
		t.Fatalf("the owner is told %+v", out)
	}
	m := w.begin("acme", "b")
	w.carry(m, "a", "b", placement.PhaseCopying)
	for node, want := range map[string]struct {
		role placement.Role
		peer string
	}{"a": {placement.RoleSource, "b"}, "b": {placement.RoleTarget, "a"}} {
		out, err := w.assignments(node, 0, 0)
		w.must(err)
		a := out.Placements[0]
		if a.Role != want.role || a.State != placement.Copying || a.Generation != 1 || a.Migration == nil ||
			a.Migration.ID != m || a.Migration.Peer != want.peer || a.Migration.ManifestRoot != snapshot.Root {
			t.Errorf("node %s is told %+v %+v", node, a, a.Migration)
		}
		again, err := w.assignments(node, out.Version, 0)
		w.must(err)
		if !again.Unchanged || again.Version != out.Version || len(again.Placements) != 0 {
			t.Errorf("asked again, node %s is told %+v", node, again)
		}
	}
	w.node("c", "eu", 10)
	out, err = w.assignments("c", 0, 0)
	w.must(err)
	if len(out.Placements) != 0 || out.Unchanged {
		t.Errorf("a node without tenants is told %+v", out)
	}
}

// A node with more tenants than a page holds is told of all, by tenant.
func TestAssignmentsReadEveryPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.region("eu")
	w.node("a", "eu", 5000)
	const many = store.MaxPage + 3
	for i := range many {
		w.tenant(fmt.Sprintf("t%04d", many-i), "eu")
	}
	out, err := w.assignments("a", 0, 0)
	w.must(err)
	sorted := slices.IsSortedFunc(out.Placements, func(a, b placement.Assignment) int {
		return map[bool]int{true: -1, false: 1}[a.Tenant < b.Tenant]
	})
	if len(out.Placements) != many || !sorted {
		t.Errorf("%d of %d tenants, sorted %t", len(out.Placements), many, sorted)
	}
}

// A waiting node is answered as soon as something changes, without the clock.
func TestAssignmentsWaitForAHint(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	known := w.nodeRecord("b").Assignments
	answer := w.waitForAssignments("b", known, 30*time.Second)
	w.asleep()
	w.begin("acme", "b")
	got := received(w, answer)
	w.must(got.err)
	if got.out.Unchanged || len(got.out.Placements) != 1 || got.out.Version <= known {
		t.Errorf("the waiting node is told %+v", got.out)
	}
	if n := w.hints.Waiting(); n != 0 {
		t.Errorf("%d subscriptions are left behind", n)
	}
}

// A lost hint costs a moment, not the whole wait: correctness does not depend on hints (A4).
func TestAssignmentsSurviveALostHint(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.hints.LoseAll()
	answer := w.waitForAssignments("b", w.nodeRecord("b").Assignments, 30*time.Second)
	w.asleep()
	w.begin("acme", "b")
	w.clock.Advance(w.Settings.Relook)
	if got := received(w, answer); got.err != nil || got.out.Unchanged {
		t.Errorf("the waiting node is told %+v, %v", got.out, got.err)
	}
}

// A wait is bounded by the setting, and ends with "unchanged"; one that is over at once does not wait at all.
func TestAssignmentsWaitIsBounded(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	known := w.nodeRecord("b").Assignments
	answer := w.waitForAssignments("b", known, time.Hour)
	w.passes(w.Settings.MaxWait)
	if got := received(w, answer); got.err != nil || !got.out.Unchanged || got.out.Version != known {
		t.Errorf("after the wait the node is told %+v, %v", got.out, got.err)
	}
	for _, wait := range []time.Duration{0, -time.Second} {
		out, err := w.assignments("b", known, wait)
		w.must(err)
		if !out.Unchanged {
			t.Errorf("told %+v", out)
		}
	}
}

// Where nobody may wait any more, what is new is told all the same, and only a wait is refused.
func TestAssignmentsWithoutRoomToWait(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	w.hints.RefuseAll()
	known := w.nodeRecord("a").Assignments
	out, err := w.assignments("a", known-1, time.Second)
	w.must(err)
	if len(out.Placements) != 1 {
		t.Errorf("told %+v", out)
	}
	_, err = w.assignments("a", known, time.Second)
	w.refused(err, "too_many_waiters")
	_, err = w.assignments("a", known, 0)
	w.must(err)
}

// A request that ends while it waits leaves nothing behind.
func TestWaitEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := w.Assignments(ctx, fleet.AssignmentsRequest{
			Caller: caller("b"), Known: w.nodeRecord("b").Assignments, Wait: time.Minute,
		})
		done <- err
	}()
	w.asleep()
	cancel()
	w.refused(received(w, done), "request_ended")
	if w.hints.Waiting() != 0 || w.clock.Timers() != 0 {
		t.Errorf("%d subscriptions and %d timers are left behind", w.hints.Waiting(), w.clock.Timers())
	}
}

// A node that is retired while it waits is refused, not answered.
func TestWaitingNodeThatIsRetired(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	answer := w.waitForAssignments("b", w.nodeRecord("b").Assignments, 30*time.Second)
	w.asleep()
	_, err := w.RetireNode(w.ctx, fleet.NodeRequest{Actor: alice, Node: "b"})
	w.must(err)
	w.refused(received(w, answer).err, "node_retired")
}

// inForce plays the check of a caller's certificate, and counts how often it was asked.
type inForce struct {
	mu    sync.Mutex
	asked int
	err   error
	done  chan struct{} // one for each time it was asked
}

func newInForce() *inForce { return &inForce{done: make(chan struct{}, 100)} }

func (f *inForce) still(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	f.done <- struct{}{}
	return f.err
}

func (f *inForce) ends(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (w *world) waitAs(f *inForce, node string, wait time.Duration) <-chan assigned {
	c := make(chan assigned, 1)
	known := w.nodeRecord(node).Assignments
	go func() {
		out, err := w.Assignments(w.ctx, fleet.AssignmentsRequest{Caller: caller(node), Known: known, Wait: wait, Still: f.still})
		c <- assigned{out, err}
	}()
	w.asleep()
	return c
}

var errRevoked = fault.New(fault.Unauthenticated, "credential_revoked", "revoked")

// A waiting node whose certificate is revoked is refused by the hint, without the clock; a hint for another reason lets it
// wait on.
func TestWaitingNodeThatIsRevoked(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	f := newInForce()
	answer := w.waitAs(f, "b", 30*time.Second)
	w.hints.Publish(w.ctx, "node/b")
	received(w, f.done)
	w.asleep()
	select {
	case got := <-answer:
		t.Fatalf("a hint without cause ended the wait with %+v", got)
	default:
	}
	f.ends(errRevoked)
	w.hints.Publish(w.ctx, "node/a")
	w.hints.Publish(w.ctx, "node/b")
	w.refused(received(w, answer).err, "credential_revoked")
	if f.asked != 2 || w.hints.Waiting() != 0 || w.clock.Timers() != 0 {
		t.Errorf("asked %d times, %d subscriptions and %d timers are left", f.asked, w.hints.Waiting(), w.clock.Timers())
	}
}

// Who waits without a hint is not asked after, nor who is answered by one: waiting costs no query of its own.
func TestWaitingAsksForNothingByItself(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	f := newInForce()
	f.ends(errRevoked)
	answer := w.waitAs(f, "b", w.Settings.MaxWait)
	w.passes(w.Settings.MaxWait)
	if got := received(w, answer); got.err != nil || !got.out.Unchanged {
		t.Errorf("told %+v", got)
	}
	answer = w.waitAs(f, "b", w.Settings.MaxWait)
	w.begin("acme", "b")
	if got := received(w, answer); got.err != nil || got.out.Unchanged {
		t.Errorf("told %+v", got)
	}
	if f.asked != 0 {
		t.Errorf("asked %d times", f.asked)
	}
}

// Whoever waits for a migration is answered when it changes, at once when it has ended, and at the end of the wait.
func TestMigrationWait(t *testing.T) {
	t.Parallel()
	w := twoNodes(t)
	m := w.begin("acme", "b")
	answer := make(chan *placement.Migration, 1)
	wait := func() {
		got, err := w.Migration(w.ctx, fleet.MigrationRequest{Tenant: "acme", Migration: m, Wait: 30 * time.Second})
		if err != nil {
			t.Errorf("waiting: %v", err)
		}
		answer <- got
	}
	go wait()
	w.asleep()
	w.clock.Advance(time.Second)
	w.must(w.prepared("a", m))
	if got := received(w, answer); got.Record().State != placement.PhasePreparing || !got.Record().SourcePrepared {
		t.Errorf("after one report the wait ended with %+v", got.Record())
	}
	go wait()
	w.passes(w.Settings.MaxWait)
	if got := received(w, answer); got.Record().State != placement.PhasePreparing {
		t.Errorf("after the wait it is %s", got.Record().State)
	}
	w.must(w.abort("acme", m))
	wait()
	if got := received(w, answer); got.Record().State != placement.PhaseAborted {
		t.Errorf("ended, it is %s", got.Record().State)
	}
}
