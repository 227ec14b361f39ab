package fleet

import (
	"context"
	"time"

	"berth/ports/notify"
)

// await is notify.Waiter's, within this area's settings. Who waits by nothing that could end has no still.
func (f *Fleet) await(ctx context.Context, wait time.Duration, topic notify.Topic, still func(context.Context) error,
	read func(context.Context) (done bool, err error),
) error {
	w := notify.Waiter{Hints: f.Hints, Clock: f.Clock, Longest: f.Settings.MaxWait, Relook: f.Settings.Relook, Still: still}
	return w.Await(ctx, wait, topic, read)
}
