package market

import (
	"context"
	"time"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/notify"
	"berth/ports/store"
)

// IntentRequest asks what became of an intent.
type IntentRequest struct {
	Caller Caller
	ID     string
	Wait   time.Duration // how long to wait for it to change or end, at most Settings.MaxWait

	// Still says whether the caller's credentials are in force, whenever a hint woke it for nothing that differs; nil: they are.
	Still func(context.Context) error
}

// Intent returns an intent of the caller's deployment; with a wait, once it is another than at first, or has ended.
// Faults: NotFound intent_not_found, also for one of another deployment; those of Still; Exhausted too_many_waiters.
func (m *Market) Intent(ctx context.Context, in IntentRequest) (delivery.IntentRecord, error) {
	var first, last delivery.IntentRecord
	w := notify.Waiter{Hints: m.Hints, Clock: m.Clock, Longest: m.Settings.MaxWait, Relook: m.Settings.Relook, Still: in.Still}
	err := w.Await(ctx, in.Wait, desired.Topic(in.Caller.install), func(ctx context.Context) (done bool, err error) {
		if last, err = m.intent(ctx, in.Caller, in.ID); err != nil {
			return false, err
		}
		if first.ID == "" {
			first = last
		}
		return !delivery.RestoreIntent(last).InFlight() || first.State != last.State, nil
	})
	if err != nil {
		return delivery.IntentRecord{}, err
	}
	return last, nil
}

func (m *Market) intent(ctx context.Context, c Caller, id string) (out delivery.IntentRecord, err error) {
	err = m.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		v, err := r.Intents.Get(ctx, id)
		if err == nil && v.Record().InstallID != c.install {
			err = fault.New(fault.NotFound, "intent_not_found", "there is no intent %s", id)
		}
		if err != nil {
			return err
		}
		out = v.Record()
		return nil
	})
	return out, err
}
