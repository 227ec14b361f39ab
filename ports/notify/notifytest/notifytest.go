// Package notifytest is the suite that every carrier of change hints passes. The laws hold while nothing is broken: no
// process dies and no connection is lost. What is lost then is nobody's promise.
package notifytest

import (
	"context"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/notify"
)

// Room is how many subscriptions the subject of a suite must let in, and no more than that.
const Room = 64

// patience bounds the wait for a hint that must come. A carrier over a network takes milliseconds.
const patience = 5 * time.Second

// Subject is what the suite runs against. The subscriber must hear the publisher, and let in exactly Room subscriptions.
type Subject struct {
	Publisher  notify.Publisher
	Subscriber notify.Subscriber

	patience time.Duration // of the mutants' tests, which wait in vain
}

func (s Subject) overdue() <-chan time.Time {
	if s.patience > 0 {
		return time.After(s.patience)
	}
	return time.After(patience)
}

// Run checks every law, each on a subject of its own.
func Run(t *testing.T, open func(tb testing.TB) Subject) {
	t.Helper()
	law.Run(t, laws(), open)
}

func laws() []law.Law[Subject] {
	return []law.Law[Subject]{
		{Name: "a hint reaches every subscription that names the topic", Check: reaches},
		{Name: "a hint for another topic wakes nobody", Check: keepsTopicsApart},
		{Name: "hints that were not received are one hint", Check: coalesces},
		{Name: "a hint after a received one comes again", Check: comesAgain},
		{Name: "publishing never waits", Check: neverWaits},
		{Name: "a closed subscription stays quiet and leaves the others alone", Check: closesQuietly},
		{Name: "the number of subscriptions is bounded", Check: isBounded},
	}
}

func reaches(tb testing.TB, s Subject) {
	tb.Helper()
	one := subscribe(tb, s, "a")
	many := subscribe(tb, s, "x", "a", "y", "a")
	s.Publisher.Publish(tb.Context(), "a")
	hinted(tb, s, one)
	hinted(tb, s, many)
	s.Publisher.Publish(tb.Context(), "p", "q", "y")
	hinted(tb, s, many)
}

func keepsTopicsApart(tb testing.TB, s Subject) {
	tb.Helper()
	bystander, silent := subscribe(tb, s, "tenant/a", "tenant/A", ""), subscribe(tb, s)
	other := subscribe(tb, s, "tenant/ab")
	s.Publisher.Publish(tb.Context(), "tenant/ab")
	hinted(tb, s, other)
	quiet(tb, bystander)
	quiet(tb, silent)
}

func coalesces(tb testing.TB, s Subject) {
	tb.Helper()
	sleeper, marker := subscribe(tb, s, "a"), subscribe(tb, s, "last")
	for range 1000 {
		s.Publisher.Publish(tb.Context(), "a")
	}
	s.Publisher.Publish(tb.Context(), "last")
	hinted(tb, s, marker) // so that every earlier hint arrived as well
	hinted(tb, s, sleeper)
	quiet(tb, sleeper)
}

func comesAgain(tb testing.TB, s Subject) {
	tb.Helper()
	sub := subscribe(tb, s, "a")
	for range 10 {
		s.Publisher.Publish(tb.Context(), "a")
		hinted(tb, s, sub)
	}
}

func neverWaits(tb testing.TB, s Subject) {
	tb.Helper()
	subscribe(tb, s, "a") // receives nothing
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			s.Publisher.Publish(tb.Context(), "a", "nobody")
		}
		ended, cancel := context.WithCancel(tb.Context())
		cancel()
		s.Publisher.Publish(ended, "a")
	}()
	select {
	case <-done:
	case <-s.overdue():
		tb.Fatal("publishing waits for a subscriber that does not receive")
	}
}

func closesQuietly(tb testing.TB, s Subject) {
	tb.Helper()
	gone, stays := subscribe(tb, s, "a"), subscribe(tb, s, "a")
	gone.Close()
	gone.Close()
	s.Publisher.Publish(tb.Context(), "a")
	hinted(tb, s, stays)
	quiet(tb, gone)
}

func isBounded(tb testing.TB, s Subject) {
	tb.Helper()
	subs := make([]notify.Subscription, Room)
	for i := range subs {
		subs[i] = subscribe(tb, s, "a")
	}
	refused(tb, s)
	refused(tb, s) // a refusal takes no place and frees none
	subs[0].Close()
	subs[0].Close() // frees one place, not two
	subscribe(tb, s, "a")
	refused(tb, s)
}

func refused(tb testing.TB, s Subject) {
	tb.Helper()
	sub, err := s.Subscriber.Subscribe("a")
	if err == nil {
		sub.Close()
		tb.Fatalf("more than %d subscriptions were let in", Room)
	}
	if fault.KindOf(err) != fault.Exhausted || fault.SlugOf(err) != "too_many_waiters" {
		tb.Fatalf("one too many was refused with %v", err)
	}
}

func subscribe(tb testing.TB, s Subject, topics ...notify.Topic) notify.Subscription {
	tb.Helper()
	sub, err := s.Subscriber.Subscribe(topics...)
	if err != nil {
		tb.Fatalf("subscribe: %v", err)
	}
	tb.Cleanup(sub.Close)
	return sub
}

func hinted(tb testing.TB, s Subject, sub notify.Subscription) {
	tb.Helper()
	select {
	case _, open := <-sub.C():
		if !open {
			tb.Fatal("the channel was closed")
		}
	case <-s.overdue():
		tb.Fatal("no hint came")
	}
}

func quiet(tb testing.TB, sub notify.Subscription) {
	tb.Helper()
	select {
	case <-sub.C():
		tb.Fatal("a hint came that nobody gave")
	default:
	}
}
