package inprocess_test

import (
	"testing"
	"testing/synctest"
	"time"

	"berth/adapters/notify/inprocess"
	"berth/ports/notify"
	"berth/ports/notify/notifytest"
)

func TestWakerConformance(t *testing.T) {
	t.Parallel()
	notifytest.RunWaker(t, func(testing.TB) notifytest.WakerSubject {
		hub := inprocess.New(inprocess.Limits{Subscriptions: notifytest.Crowd, Topics: 1000})
		return notifytest.WakerSubject{Waker: hub, Subscriber: hub}
	})
}

// 2,000 waiters are woken over a second, none later, and in no hundredth of it more than a fiftieth of them: the store
// sees a stream of reads and not a wall. One that asks again meanwhile is not woken by the same call.
func TestWakeAllSpreadsTheHerd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		hub := inprocess.New(inprocess.Limits{Subscriptions: 2 * n, Topics: 2 * n})
		start := time.Now()
		woken := map[time.Duration]int{}
		at := make(chan time.Duration, n)
		for range n {
			sub := mustSubscribe(t, hub)
			go func() {
				<-sub.C()
				at <- time.Since(start)
				sub.Close()
			}()
		}
		late := make(chan notify.Subscription, 1)
		time.AfterFunc(500*time.Millisecond, func() {
			sub, _ := hub.Subscribe("tenant/acme")
			late <- sub
		})
		hub.WakeAll(t.Context(), time.Second)
		synctest.Wait()
		for range n {
			woken[(<-at).Truncate(10*time.Millisecond)]++
		}
		for when, count := range woken {
			if when > time.Second || count > n/50 {
				t.Errorf("%d were woken after %v", count, when)
			}
		}
		select {
		case <-(<-late).C():
			t.Error("who came later was woken")
		default:
		}
	})
}

// A few waiters are woken at once: to spread them would only delay them.
func TestWakeAllDoesNotKeepAFewWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub := inprocess.New(inprocess.Limits{Subscriptions: 10, Topics: 10})
		sub, start := mustSubscribe(t, hub), time.Now()
		hub.WakeAll(t.Context(), time.Hour)
		<-sub.C()
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

func mustSubscribe(tb testing.TB, hub *inprocess.Hub) notify.Subscription {
	tb.Helper()
	sub, err := hub.Subscribe("tenant/acme")
	if err != nil {
		tb.Fatal(err)
	}
	return sub
}

func BenchmarkWakeAll(b *testing.B) {
	const n = 20_000
	hub := inprocess.New(inprocess.Limits{Subscriptions: n, Topics: n})
	for range n {
		mustSubscribe(b, hub)
	}
	for b.Loop() {
		hub.WakeAll(b.Context(), 0)
	}
	b.ReportMetric(n, "subscriptions")
}
