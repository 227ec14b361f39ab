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

	// Still is asked after a hint that brought nothing to say: whether the caller may go on waiting. Its error ends the
	// wait. Nobody is asked where it is nil, nor without a hint, so that waiting in itself costs nothing.
	Still func(context.Context) error
}

// Await reads until there is something to say or the wait is over. It subscribes before it reads, so that no change
// falls between, and reads again by itself every Relook, since a hint may be lost (A4). Faults are those of read and of
// Still. Where no place to wait is left,
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
	return w.watch(ctx, wait, hints, read)
}

func (w Waiter) watch(ctx context.Context, wait time.Duration, hints Subscription, read func(context.Context) (done bool, err error)) error {
	until := w.Clock.Elapsed() + wait
	for hinted := false; ; {
		done, err := read(ctx)
		left := until - w.Clock.Elapsed()
		if done || err != nil || left <= 0 {
			return err
		}
		if hinted && w.Still != nil {
			if err := w.Still(ctx); err != nil {
				return err
			}
		}
		if hinted, err = w.pause(ctx, hints, min(left, w.Relook)); err != nil {
			return err
		}
	}
}

// pause reports whether it was a hint that ended it.
func (w Waiter) pause(ctx context.Context, hints Subscription, d time.Duration) (hinted bool, err error) {
	timer := w.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-hints.C():
		return true, nil
	case <-timer.C():
		return false, nil
	case <-ctx.Done():
		return false, fault.New(fault.Unavailable, "request_ended", "the request ended while it waited").Because(ctx.Err())
	}
}
