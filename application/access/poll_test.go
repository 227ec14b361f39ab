package access_test

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"berth/application/access"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

func (w *world) poll(node string, wait time.Duration, known ...store.Known) ([]access.PollEntry, error) {
	out, err := w.Poll(w.ctx, access.PollRequest{Caller: caller(node), Known: known, Wait: wait})
	return out.Entries, err
}

func (w *world) known() store.Known {
	return store.Known{Tenant: "acme", Generation: w.placement().Generation, Revision: w.tenant().Revision}
}

// Each entry is judged on its own: what is known is left out, what changed is told by delta where there is one, and what
// is not the node's is not found, whatever it is. Doubled entries do no harm.
func TestPollJudgesEachEntry(t *testing.T) {
	t.Parallel()
	w, _, _ := couple(t)
	_, err := w.CreateTenant(w.ctx, create("waiting", "us"))
	w.must(err)
	_, err = w.CreateTenant(w.ctx, create("other", "eu")) // on node b, which has more room
	w.must(err)
	now := w.known()
	entries, err := w.poll("a", 0,
		now,
		store.Known{Tenant: "acme", Generation: 1, Revision: 1},
		store.Known{Tenant: "nobody", Generation: 1, Revision: 1},
		store.Known{Tenant: "acme", Generation: 1, Revision: 1},
		store.Known{Tenant: "acme", Generation: 1, Revision: 0},
		store.Known{Tenant: "acme", Generation: 0, Revision: now.Revision},
		store.Known{Tenant: "acme", Generation: 1, Revision: now.Revision + 1},
		store.Known{Tenant: "waiting", Generation: 1, Revision: 1},
		store.Known{Tenant: "other", Generation: 1, Revision: 1},
		store.Known{Tenant: "Out Of Form", Generation: 1, Revision: 1},
		store.Known{Tenant: "\x00", Generation: 1, Revision: 1},
		now,
	)
	w.must(err)
	delta, err := w.Delta(w.ctx, access.DeltaRequest{Caller: caller("a"), Tenant: "acme", Generation: 1, Since: 1})
	w.must(err)
	want := []access.PollEntry{
		{Tenant: "acme", Result: access.PollDelta, Generation: 1, Delta: &delta},
		{Tenant: "nobody", Result: access.PollNotFound},
		{Tenant: "acme", Result: access.PollSnapshotNeeded, Generation: 1},
		{Tenant: "acme", Result: access.PollSnapshotNeeded, Generation: 1},
		{Tenant: "acme", Result: access.PollSnapshotNeeded, Generation: 1},
		{Tenant: "waiting", Result: access.PollNotFound},
		{Tenant: "other", Result: access.PollNotFound},
		{Tenant: "Out Of Form", Result: access.PollNotFound},
		{Tenant: "\x00", Result: access.PollNotFound},
	}
	if !reflect.DeepEqual(entries, want) {
		t.Fatalf("answered %+v", entries)
	}
}

// What the store's filter leaves out, the holder at what it believes, is what the access table allows: in every phase.
func TestPollFilterAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	for _, phase := range phases {
		w := housed(t)
		w.moves(phase)
		for _, node := range []string{"a", "b", "c"} {
			entries, err := w.poll(node, 0, w.known())
			w.must(err)
			if may := allowed(authorization.OpDelta, roleIn(node, phase), phase); may != (len(entries) == 0) {
				t.Errorf("%s in %s: %+v", node, phase, entries)
			}
		}
	}
}

// A poll is bounded, in what it may ask and in what it answers.
func TestPollIsBounded(t *testing.T) {
	t.Parallel()
	w := housed(t)
	known := make([]store.Known, access.MaxPoll)
	for i := range known {
		known[i] = store.Known{Tenant: fmt.Sprint("t", i)}
	}
	entries, err := w.poll("a", 0, known...)
	w.must(err)
	if len(entries) != access.MaxPoll {
		t.Fatalf("answered %d", len(entries))
	}
	_, err = w.poll("a", 0, append(known, store.Known{Tenant: "more"})...)
	w.refused(err, fault.Invalid, "poll_too_large")
	_, err = w.poll("a", 0, store.Known{Tenant: "acme", Generation: -1, Revision: -1})
	w.refused(err, fault.Invalid, "out_of_range")
	if f, _ := fault.As(err); len(f.Errors) != 2 || f.Errors[1].Field != "tenants[0].revision" {
		t.Fatalf("named are %+v", f)
	}
}

// The changes of one answer are bounded over all of its tenants; what goes beyond is told as snapshot_needed, and a delta
// is never cut short.
func TestPollHasABudget(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.Settings.PollChanges = 5
	w.pair(1, authorization.Owner) // two changes each
	w.pair(2, authorization.Owner)
	w.pair(3, authorization.Owner)
	at := func(revision int64) store.Known {
		return store.Known{Tenant: "acme", Generation: 1, Revision: revision}
	}
	for _, c := range []struct {
		known []store.Known
		want  []access.PollResult
	}{
		{[]store.Known{at(1)}, []access.PollResult{access.PollSnapshotNeeded}},
		{[]store.Known{at(2)}, []access.PollResult{access.PollDelta}},
		{[]store.Known{at(2), at(3)}, []access.PollResult{access.PollDelta, access.PollSnapshotNeeded}},
		{[]store.Known{at(1), at(3), at(2)}, []access.PollResult{
			access.PollSnapshotNeeded, access.PollDelta, access.PollSnapshotNeeded,
		}},
	} {
		entries, err := w.poll("a", 0, c.known...)
		w.must(err)
		var got []access.PollResult
		for _, e := range entries {
			got = append(got, e.Result)
			if e.Delta != nil && e.Delta.To != 4 {
				t.Errorf("a delta was cut short: %+v", e.Delta)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("asked %+v, answered %v", c.known, got)
		}
	}
}

// outcome is what a waiting poll came to.
type outcome struct {
	entries []access.PollEntry
	err     error
}

// waits starts a poll that finds nothing new, and returns once it waits.
func (w *world) waits(ctx context.Context, wait time.Duration) <-chan outcome {
	w.t.Helper()
	done := make(chan outcome, 1)
	known := w.known()
	go func() {
		out, err := w.Poll(ctx, access.PollRequest{Caller: caller("a"), Known: []store.Known{known}, Wait: wait})
		done <- outcome{out.Entries, err}
	}()
	w.awaitTimer()
	return done
}

func (w *world) awaitTimer() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	w.must(w.clock.AwaitTimers(ctx, 1))
}

// A waiting poll answers as soon as a revoke is committed, without the clock moving.
func TestPollWakesOnRevoke(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	done := w.waits(w.ctx, 30*time.Second)
	_, err := w.revoke(member, owner)
	w.must(err)
	got := <-done
	w.must(got.err)
	if len(got.entries) != 1 || got.entries[0].Result != access.PollDelta || got.entries[0].Delta.To != 5 {
		t.Fatalf("answered %+v", got.entries)
	}
	if w.hints.Waiting() != 0 || w.clock.Timers() != 0 {
		t.Fatalf("%d subscriptions and %d timers are left", w.hints.Waiting(), w.clock.Timers())
	}
}

// A hint without cause wakes nobody for good.
func TestPollGoesOnWaiting(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	done := w.waits(w.ctx, 30*time.Second)
	w.hints.Publish(w.ctx, "node/a")
	w.hints.Publish(w.ctx, "node/b")
	_, err := w.revoke(member, owner)
	w.must(err)
	if got := <-done; got.err != nil || len(got.entries) != 1 {
		t.Fatalf("answered %+v", got)
	}
}

// A lost hint costs the time until the next look, and no more.
func TestPollWithLostHints(t *testing.T) {
	t.Parallel()
	w, owner, member := couple(t)
	w.hints.LoseAll()
	done := w.waits(w.ctx, 30*time.Second)
	_, err := w.revoke(member, owner)
	w.must(err)
	w.clock.Advance(5 * time.Second)
	if got := <-done; got.err != nil || len(got.entries) != 1 || got.entries[0].Result != access.PollDelta {
		t.Fatalf("answered %+v", got)
	}
}

// Where nothing happens the wait ends with nothing to say, at the bound if more was asked for.
func TestPollEndsWithNothing(t *testing.T) {
	t.Parallel()
	w, _, _ := couple(t)
	done := w.waits(w.ctx, time.Hour)
	start := w.clock.Elapsed()
	for w.clock.Elapsed()-start < 30*time.Second {
		w.awaitTimer()
		w.clock.Advance(time.Second)
	}
	if got := <-done; got.err != nil || len(got.entries) != 0 {
		t.Fatalf("answered %+v", got)
	}
}

// A poll whose request ends is over, and leaves nothing behind.
func TestPollWhoseRequestEnds(t *testing.T) {
	t.Parallel()
	w, _, _ := couple(t)
	ctx, leave := context.WithCancel(w.ctx)
	done := w.waits(ctx, 30*time.Second)
	leave()
	got := <-done
	w.refused(got.err, fault.Unavailable, "request_ended")
	if w.hints.Waiting() != 0 || w.clock.Timers() != 0 {
		t.Fatalf("%d subscriptions and %d timers are left", w.hints.Waiting(), w.clock.Timers())
	}
}

// Where no place to wait is left, what there is to say is said; only who would have to wait is refused.
func TestPollWithoutAPlaceToWait(t *testing.T) {
	t.Parallel()
	w, _, _ := couple(t)
	w.hints.RefuseAll()
	known := w.known()
	_, err := w.poll("a", time.Second, known)
	w.refused(err, fault.Exhausted, "too_many_waiters")
	entries, err := w.poll("a", 0, known)
	w.must(err)
	if len(entries) != 0 {
		t.Fatalf("answered %+v", entries)
	}
	known.Revision--
	entries, err = w.poll("a", time.Second, known)
	w.must(err)
	if len(entries) != 1 {
		t.Fatalf("answered %+v", entries)
	}
}

// A poll that differs answers at once, however long it may wait; so does one that loses its tenant while it waits.
func TestPollAnswersAtOnce(t *testing.T) {
	t.Parallel()
	w, _, _ := couple(t)
	known := w.known()
	known.Revision--
	entries, err := w.poll("a", 30*time.Second, known)
	w.must(err)
	if len(entries) != 1 {
		t.Fatalf("answered %+v", entries)
	}
	done := w.waits(w.ctx, 30*time.Second)
	w.moves(placement.PhaseDraining)
	w.hints.Publish(w.ctx, "node/a")
	got := <-done
	w.must(got.err)
	if len(got.entries) != 1 || got.entries[0].Result != access.PollNotFound || got.entries[0].Generation != 0 {
		t.Fatalf("answered %+v", got.entries)
	}
}

// A poll whose node loses its certificate while it waits is refused by the hint, without the clock; one about which a
// hint brings nothing waits on, and neither is read again where nothing changed.
func TestPollOfANodeThatIsRevoked(t *testing.T) {
	t.Parallel()
	w, _, _ := couple(t)
	counted := &countedViews{Store: w.mem}
	w.Access.Store = counted
	known := w.known()
	_, err := w.poll("a", 0, known)
	w.must(err)
	counted.views = 0
	asked := make(chan struct{}, 10)
	var revoked atomic.Bool
	done := make(chan outcome, 1)
	go func() {
		out, err := w.Poll(w.ctx, access.PollRequest{
			Caller: caller("a"), Known: []store.Known{known}, Wait: 30 * time.Second, Still: func(context.Context) error {
				asked <- struct{}{}
				if revoked.Load() {
					return fault.New(fault.Unauthenticated, "credential_revoked", "revoked")
				}
				return nil
			},
		})
		done <- outcome{out.Entries, err}
	}()
	w.awaitTimer()
	w.hints.Publish(w.ctx, "node/a")
	<-asked
	w.awaitTimer()
	if len(done) > 0 {
		t.Fatalf("a hint without cause ended the wait: %+v", <-done)
	}
	w.clock.Advance(w.Settings.Relook)
	w.awaitTimer()
	revoked.Store(true)
	w.hints.Publish(w.ctx, "node/a")
	w.refused((<-done).err, fault.Unauthenticated, "credential_revoked")
	if n := len(asked); n != 1 { // and not without a hint
		t.Errorf("asked %d times more, want once", n)
	}
	if counted.views != 0 {
		t.Errorf("%d views, though the node's pulse stayed", counted.views)
	}
}
