package access

import (
	"context"
	"time"

	"berth/ports/notify"
	"berth/ports/store"
)

// await reads until there is something to say or the wait is over. It subscribes before it reads, so that no change
// falls between, and reads again by itself every Settings.Relook, since a hint may be lost (A4). Where no place to wait
// is left, what is there is still answered; only a caller that would have to wait is refused: Exhausted
// too_many_waiters. One whose request ends first gets Unavailable request_ended.
func (a *Access) await(ctx context.Context, wait time.Duration, topic notify.Topic,
	read func(context.Context) (done bool, err error),
) error {
	wait = min(wait, a.Settings.MaxWait)
	if wait <= 0 {
		_, err := read(ctx)
		return err
	}
	hints, refused := a.Hints.Subscribe(topic)
	if refused != nil {
		if done, err := read(ctx); done || err != nil {
			return err
		}
		return refused
	}
	defer hints.Close()
	until := a.Clock.Elapsed() + wait
	for {
		done, err := read(ctx)
		left := until - a.Clock.Elapsed()
		if done || err != nil || left <= 0 {
			return err
		}
		if err := a.pause(ctx, hints, min(left, a.Settings.Relook)); err != nil {
			return err
		}
	}
}

func (a *Access) pause(ctx context.Context, hints notify.Subscription, d time.Duration) error {
	timer := a.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-hints.C():
	case <-timer.C():
	case <-ctx.Done():
		return store.Ended(ctx.Err())
	}
	return nil
}
