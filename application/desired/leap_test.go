package desired_test

import (
	"context"
	"sync"
	"testing"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/ports/store"
)

// A removal does not outlive a leap, and neither does the intent that asked for it: it could never come to its end, and
// nothing else could be asked for of the app again.
func TestALeapEndsIntentsWhoseRemovalItDrops(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0", "blog", "1.0.0"))
	a := w.enroll(1)
	a.follow()
	w.publish(removing("blog"))
	w.do(func(ctx context.Context, r *store.Roles) error {
		for app, action := range map[string]delivery.Action{"blog": delivery.Uninstall, "db": delivery.Install} {
			w.must(r.Intents.Create(ctx, delivery.NewIntent(delivery.Granted{
				ID: "int_" + app, InstallID: install, License: license, App: app, Action: action, Version: "1.0.0", Revision: w.head().Revision,
			}, noon)))
		}
		return nil
	})
	_, err := w.Leap(w.ctx, desired.LeapRequest{Actor: alice, Install: install, Note: "restored"})
	w.must(err)
	w.view(func(ctx context.Context, r *store.Roles) error {
		flying, err := r.Intents.InFlight(ctx, install)
		w.must(err)
		if len(flying) != 1 || flying[0].Record().App != "db" {
			t.Errorf("%d are in flight", len(flying))
		}
		log, err := r.Audit.About(ctx, "deployment/"+install, 0, 1000)
		w.must(err)
		if noted := log[len(log)-2]; noted.Action != "intent.superseded" || noted.Detail["intent"] != "int_blog" {
			t.Errorf("%+v", noted)
		}
		return nil
	})
}

// interrupted does something once, just before the first write.
type interrupted struct {
	store.Store
	once *sync.Once
	by   func()
}

func (s interrupted) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	s.once.Do(s.by)
	return s.Store.Atomically(ctx, fn)
}

// What may run is looked at after a leap, also where a review met the frozen head and a leap followed at once (E6).
func TestAReviewOfAFrozenHeadDoesNotPutOffTheOneAfterTheLeap(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0"))
	w.do(func(ctx context.Context, r *store.Roles) error {
		head, err := r.DesiredStates.Get(ctx, install)
		w.must(err)
		frozen, _ := head.Claimed(9)
		return r.DesiredStates.Save(ctx, frozen)
	})
	w.license(func(l *entitlement.License) error { return l.Suspend(noon) })
	on := w.replica(interrupted{w.mem, new(sync.Once), func() {
		_, err := w.Leap(w.ctx, desired.LeapRequest{Actor: alice, Install: install, Note: "restored"})
		w.must(err)
	}}, 2)
	w.must(on.Review(w.ctx, install))
	_, err := w.SweepReviews(w.ctx)
	w.must(err)
	if head := w.head(); !head.Apps[0].Suspended {
		t.Fatalf("%+v", head.Apps)
	}
}
