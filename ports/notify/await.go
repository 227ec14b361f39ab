package notify

import (
	"context"
	"time"

	"berth/domain/fault"
	"berth/ports/clock"
)

// Waiter waits for changes on behalf of a long poll.
type Waiter struct {
	Hints   Subscriber
	Clock   clock.Clock
	Longest time.Duration // no wait is longer
	Relook  time.Duration // how often it reads without a hint
}

// Await reads until there is something to say or the wait is over. It subscribes before it reads, so that no change
// falls between, and reads again by itself every Relook, since a hint may be lost (A4). Where no place to wait is left,
// what is there is still answered; only a caller that would have to wait is refused: Exhausted too_many_waiters. One
// whose request ends first gets Unavailable request_ended.
func (w Waiter) Await(ctx context.Context, wait time.Duration, topic Topic, read func(context.Context) (done bool, err error)) error {
	wait = min(wait, w.Longest)
	if wait <= 0 {
		_, err := read(ctx)
		return err
	}
	hints, refused := w.Hints.Subscribe(topic)
	if refused != nil {
		if done, err := read(ctx); done || err != nil {
			return err
		}
		return refused
	}
	defer hints.Close()
	until := w.Clock.Elapsed() + wait
	for {
		done, err := read(ctx)
		left := until - w.Clock.Elapsed()
		if done || err != nil || left <= 0 {
			return err
		}
		if err := w.pause(ctx, hints, min(left, w.Relook)); err != nil {
			return err
		}
	}
}

func (w Waiter) pause(ctx context.Context, hints Subscription, d time.Duration) error {
	timer := w.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-hints.C():
	case <-timer.C():
	case <-ctx.Done():
		return fault.New(fault.Unavailable, "request_ended", "the request ended while it waited").Because(ctx.Err())
	}
	return nil
}
