package inprocess_test

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"berth/adapters/notify/inprocess"
	"berth/domain/fault"
	"berth/ports/notify"
	"berth/ports/notify/notifytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(testing.TB) notifytest.Subject {
		hub := inprocess.New(inprocess.Limits{Subscriptions: notifytest.Room, Topics: 1000})
		return notifytest.Subject{Publisher: hub, Subscriber: hub}
	})
}

// The topics that subscriptions name are bounded together, a topic named twice counts once, and Close gives them back.
func TestTopicsAreBounded(t *testing.T) {
	t.Parallel()
	hub := inprocess.New(inprocess.Limits{Subscriptions: 10, Topics: 3})
	first, err := hub.Subscribe("a", "b", "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.Subscribe("c", "d"); fault.SlugOf(err) != "too_many_waiters" {
		t.Fatalf("a fourth topic was answered with %v", err)
	}
	first.Close()
	if _, err := hub.Subscribe("c", "d", "e"); err != nil {
		t.Fatalf("after Close: %v", err)
	}
}

// The zero limits let nobody in: a bound that was forgotten is not the same as no bound.
func TestZeroLimitsRefuse(t *testing.T) {
	t.Parallel()
	if _, err := inprocess.New(inprocess.Limits{}).Subscribe("a"); fault.KindOf(err) != fault.Exhausted {
		t.Fatalf("got %v", err)
	}
}

// 10,000 waiters on one tenant are each told of one change, and nothing of them is left when they went away.
func TestTenThousandSubscribers(t *testing.T) {
	t.Parallel()
	const n = 10_000
	hub := inprocess.New(inprocess.Limits{Subscriptions: n, Topics: n})
	subs := make([]notify.Subscription, n)
	for i := range subs {
		var err error
		if subs[i], err = hub.Subscribe("tenant/acme"); err != nil {
			t.Fatal(err)
		}
	}
	hub.Publish(t.Context(), "tenant/acme")
	for i, sub := range subs {
		select {
		case <-sub.C():
		default:
			t.Fatalf("subscriber %d was not told", i)
		}
		sub.Close()
	}
	if hub.Waiting() != 0 {
		t.Fatalf("%d subscriptions are left", hub.Waiting())
	}
}

// Publishing, subscribing and closing at once, on the same topics: every waiter that subscribed before a change is told
// of it, and all places come back.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	hub := inprocess.New(inprocess.Limits{Subscriptions: 1000, Topics: 10_000})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				sub, err := hub.Subscribe("a", "b")
				if err != nil {
					t.Error(err)
					return
				}
				hub.Publish(t.Context(), "b")
				<-sub.C()
				go sub.Close() // Close races Close below and the other goroutines' Publish
				sub.Close()
			}
		})
	}
	wg.Wait()
	if hub.Waiting() != 0 {
		t.Fatalf("%d subscriptions are left", hub.Waiting())
	}
}

func BenchmarkPublishToOneOfManyTopics(b *testing.B) {
	hub := inprocess.New(inprocess.Limits{Subscriptions: 10_000, Topics: 10_000})
	for i := range 10_000 {
		if _, err := hub.Subscribe(notify.Topic(rune('a' + i))); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		hub.Publish(b.Context(), "b")
	}
}
