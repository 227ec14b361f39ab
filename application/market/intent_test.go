package market_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"berth/application/desired"
	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// An intent is told to the deployment that asked, and to no other, of the same license either.
func TestIntentIsToldToWhoAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployment("ins_2", license)
	v := w.granted(delivery.Install, "db", "")
	got, err := w.Intent(w.ctx, market.IntentRequest{Caller: w.caller(install, license), ID: v.ID})
	w.must(err)
	if got.ID != v.ID || got.State != delivery.IntentAccepted {
		t.Errorf("got %+v", got)
	}
	for _, id := range []string{v.ID, "int_unknown"} {
		_, err = w.Intent(w.ctx, market.IntentRequest{Caller: w.caller("ins_2", license), ID: id})
		w.refused(err, fault.NotFound, "intent_not_found")
	}
}

// Who waits is told as soon as the intent moves on, and at once where it has ended.
func TestWaitingForAnIntent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		v := w.granted(delivery.Install, "db", "")
		caller := w.caller(install, license)
		told := make(chan delivery.IntentRecord, 1)
		wait := func() {
			out, err := w.Intent(w.ctx, market.IntentRequest{Caller: caller, ID: v.ID, Wait: 20 * time.Second})
			w.must(err)
			told <- out
		}
		for _, step := range []func(*delivery.Intent, time.Time, string) bool{(*delivery.Intent).Deliver, (*delivery.Intent).Fail} {
			go wait()
			synctest.Wait()
			select {
			case out := <-told:
				t.Fatalf("told %+v before it moved", out)
			default:
			}
			var want delivery.IntentState
			w.do(func(ctx context.Context, r *store.Roles) error {
				return store.UpdateIn[*delivery.Intent](ctx, r.Intents, v.ID, func(v *delivery.Intent) error {
					step(v, noon, "so it went")
					want = v.Record().State
					return nil
				})
			})
			w.hints.Publish(w.ctx, desired.Topic(install))
			if out := <-told; out.State != want || out.Detail != "so it went" {
				t.Errorf("told %+v", out)
			}
		}
		wait() // it has ended
		<-told
	})
}

// Whose credentials end while it waits is told nothing more.
func TestWaitingEndsWithTheCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		v := w.granted(delivery.Install, "db", "")
		gone := errors.New("gone")
		ended := make(chan error, 1)
		caller := w.caller(install, license)
		go func() {
			_, err := w.Intent(w.ctx, market.IntentRequest{
				Caller: caller, ID: v.ID, Wait: 20 * time.Second, Still: func(context.Context) error { return gone },
			})
			ended <- err
		}()
		synctest.Wait()
		w.hints.Publish(w.ctx, desired.Topic(install))
		if err := <-ended; !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
	})
}
