package desired_test

import (
	"context"
	"fmt"
	"testing"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/identity"
	"berth/ports/store"
)

// exhausted are deployments of which no revision can be made any more, due before every other one.
func (w *world) exhausted(n int) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		l, err := r.Licenses.Get(ctx, license)
		w.must(err)
		for i := range n {
			id := fmt.Sprintf("ins_0%d", i)
			d, err := delivery.NewDeployment(delivery.DeploymentPlan{
				InstallID: id, License: l.Record(), Customer: "acme", Namespace: "acme",
			}, noon)
			w.must(err)
			d.Reviewed(noon.Add(-day))
			w.must(r.Deployments.Create(ctx, d))
			w.must(r.DesiredStates.Create(ctx, delivery.RestoreDesired(delivery.DesiredRecord{
				InstallID: id, License: license, Revision: ident.MaxCounter,
			})))
		}
		return nil
	})
}

// However many deployments fail at every sweep, those behind them have their turn at each.
func TestWhatFailsHoldsUpNoOtherReview(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.publish(putting("one", "db", "2.0.0"))
	w.exhausted(5)
	w.Settings.ReviewBatch = 2
	w.clock.Advance(40 * day)
	for range 2 {
		n, err := w.SweepReviews(w.ctx)
		if f, ok := fault.As(err); !ok || f.Slug != "desired_state_exhausted" || n < 5 {
			t.Fatal(n, err)
		}
		if head := w.head(); head.Revision != 2 || !head.Apps[0].Suspended {
			t.Fatalf("%+v", head)
		}
	}
}

// Where nothing can be signed, a sweep does not try every deployment there is.
func TestASweepWithoutASignerEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exhausted(5)
	w.do(func(ctx context.Context, r *store.Roles) error {
		key, err := r.Keys.Get(ctx, "key-desired")
		w.must(err)
		record := key.Record()
		record.State, record.EndedAt = identity.KeyCompromised, noon
		return r.Keys.Save(ctx, identity.RestoreSigningKey(record))
	})
	w.Settings.ReviewBatch = 2
	n, err := w.SweepReviews(w.ctx)
	if fault.KindOf(err) != fault.Unavailable || n != 2 {
		t.Fatal(n, err)
	}
}
