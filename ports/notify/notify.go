// Package notify carries change hints from the transaction that changed something to whoever waits for it, so that a
// revoke reaches a relay in milliseconds.
//
// A hint is only a reason to look again. It carries nothing, it may be lost (a crash between commit and publish, a
// broken connection, a replica that just started), it may come without cause, and many may come as one. Correctness
// may not depend on it (A4): whoever waits also looks at the store by itself, often enough for its promise to hold
// without a single hint.
package notify

import (
	"context"
	"time"
)

// Topic names what changed, "tenant/acme/authorization" for example. Topics are compared as strings.
type Topic string

// Publisher tells waiters that something changed.
type Publisher interface {
	// Publish wakes the subscriptions that name any of the topics. It is called after the change has committed. It never
	// waits for a subscriber or a network, and never fails the caller, whose change stands whatever becomes of the hint;
	// what cannot be sent is counted and dropped. An ended context may drop the hint too.
	Publish(ctx context.Context, topics ...Topic)
}

// Waker tells everybody to look again. It is for who can not say which hints were lost: a connection that was gone for a
// while, a queue that ran over.
type Waker interface {
	// WakeAll hints once at every subscription that names a topic and was there when it was called. All of them are
	// going to read the store, so it wakes them in parts, spread over at most the given time, and returns after the
	// last; where the time is not positive it wakes them at once. It waits for no subscriber. An ended context ends it
	// early, with some not woken. Whoever subscribes or closes meanwhile does not wait for it.
	WakeAll(ctx context.Context, over time.Duration)
}

// Subscriber lets a caller wait for hints.
type Subscriber interface {
	// Subscribe starts a subscription to every one of the topics; with none it stays quiet. Subscribe first and read the
	// store after: then a change is either in what was read or hinted at. Past the bound on subscriptions or on the
	// topics they name together: Exhausted too_many_waiters, and the caller falls back to polling. The caller must Close
	// what it was given.
	Subscribe(topics ...Topic) (Subscription, error)
}

// Subscription is one waiter's place. Its methods are safe for concurrent use.
type Subscription interface {
	// C returns the channel on which hints come. It holds one: any number of hints that were not received yet are one
	// hint. It is never closed.
	C() <-chan struct{}
	// Close ends the subscription and frees its place. No hint is sent after it returned. Closing twice is harmless.
	Close()
}
