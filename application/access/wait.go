package access

import (
	"context"
	"time"

	"berth/ports/notify"
)

// await is notify.Waiter's, within this area's settings.
func (a *Access) await(ctx context.Context, wait time.Duration, topic notify.Topic, still func(context.Context) error,
	read func(context.Context) (done bool, err error),
) error {
	w := notify.Waiter{Hints: a.Hints, Clock: a.Clock, Longest: a.Settings.MaxWait, Relook: a.Settings.Relook, Still: still}
	return w.Await(ctx, wait, topic, read)
}
