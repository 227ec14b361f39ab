package notifytest

import (
	"context"
	"testing"
	"time"

	"berth/ports/internal/law"
	"berth/ports/notify"
)

// WakerSubject is what the laws of notify.Waker run against. What is subscribed to must be what is woken, and there must
// be room for Crowd subscriptions.
type WakerSubject struct {
	Waker      notify.Waker
	Subscriber notify.Subscriber

	patience time.Duration
}

func (s WakerSubject) carrier() Subject {
	return Subject{Subscriber: s.Subscriber, patience: s.patience}
}

// Crowd is how many subscriptions the subject of RunWaker must have room for.
const Crowd = 500

// RunWaker checks every law of a notify.Waker, each on a subject of its own.
func RunWaker(t *testing.T, open func(tb testing.TB) WakerSubject) {
	t.Helper()
	law.Run(t, wakerLaws(), open)
}

func wakerLaws() []law.Law[WakerSubject] {
	return []law.Law[WakerSubject]{
		{Name: "everybody is woken once", Check: wakesEverybody},
		{Name: "everybody is woken, at once or in parts", Check: wakesACrowd},
		{Name: "who named no topic or is gone stays quiet", Check: leavesTheQuietAlone},
		{Name: "waking waits for no subscriber", Check: wakingNeverWaits},
		{Name: "an ended context ends it", Check: endsEarly},
	}
}

func wakesEverybody(tb testing.TB, s WakerSubject) {
	tb.Helper()
	one := subscribe(tb, s.carrier(), "a")
	many := subscribe(tb, s.carrier(), "b", "c", "")
	s.Waker.WakeAll(tb.Context(), 0)
	for _, sub := range []notify.Subscription{one, many} {
		hinted(tb, s.carrier(), sub)
		quiet(tb, sub)
	}
}

func wakesACrowd(tb testing.TB, s WakerSubject) {
	tb.Helper()
	subs := make([]notify.Subscription, Crowd)
	for i := range subs {
		subs[i] = subscribe(tb, s.carrier(), "a")
	}
	for _, over := range []time.Duration{0, 1, 20 * time.Millisecond} {
		s.Waker.WakeAll(tb.Context(), over)
		for _, sub := range subs {
			hinted(tb, s.carrier(), sub)
			quiet(tb, sub)
		}
	}
}

func leavesTheQuietAlone(tb testing.TB, s WakerSubject) {
	tb.Helper()
	gone, topicless, marker := subscribe(tb, s.carrier(), "a"), subscribe(tb, s.carrier()), subscribe(tb, s.carrier(), "a")
	gone.Close()
	s.Waker.WakeAll(tb.Context(), 0)
	hinted(tb, s.carrier(), marker)
	quiet(tb, gone)
	quiet(tb, topicless)
}

func wakingNeverWaits(tb testing.TB, s WakerSubject) {
	tb.Helper()
	subscribe(tb, s.carrier(), "a") // receives nothing
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 {
			s.Waker.WakeAll(tb.Context(), 0)
		}
	}()
	select {
	case <-done:
	case <-s.carrier().overdue():
		tb.Fatal("waking waits for a subscriber that does not receive")
	}
}

func endsEarly(tb testing.TB, s WakerSubject) {
	tb.Helper()
	for range Crowd {
		subscribe(tb, s.carrier(), "a")
	}
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Waker.WakeAll(ctx, time.Hour)
	}()
	cancel()
	select {
	case <-done:
	case <-s.carrier().overdue():
		tb.Fatal("it goes on after its context ended")
	}
}
