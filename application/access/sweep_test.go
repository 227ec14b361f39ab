package access_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"berth/application/access"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/store"
)

func (w *world) secretsLeft(keys ...string) (left int) {
	w.t.Helper()
	w.view(func(ctx context.Context, r *store.Roles) error {
		left = 0
		for _, key := range keys {
			if _, err := r.Secrets.Get(ctx, key); err == nil {
				left++
			}
		}
		return nil
	})
	return left
}

// The log keeps as many revisions as it is set to; whoever is behind takes a full snapshot; the authorization itself does
// not change, and doing it again does nothing.
func TestSweepCompacts(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.Settings.KeepRevisions = 3
	for n := range uint64(6) {
		w.pair(n, authorization.Owner)
	}
	w.hints.Took()
	revision, entries := w.tenant().Revision, len(w.entries())
	w.must(w.SweepAccess(w.ctx))
	head := w.tenant()
	if head.Floor != 4 || head.Revision != revision || len(w.entries()) != entries {
		t.Fatalf("the head is %+v", head)
	}
	if log := w.dump().Changes; len(log) != 6 || log[0].Revision != 5 {
		t.Fatalf("the log is %+v", log)
	}
	for since, gone := range map[int64]bool{3: true, 4: false, 7: false} {
		_, err := w.Delta(w.ctx, access.DeltaRequest{Caller: caller("a"), Tenant: "acme", Generation: 1, Since: since})
		if (fault.KindOf(err) == fault.Gone && err != nil) != gone || !gone && err != nil {
			t.Errorf("since %d: %v", since, err)
		}
	}
	before := w.dump()
	w.must(w.SweepAccess(w.ctx))
	w.same(before, "sweeping again")
}

// A run does a bounded part, and the next goes on from there until everything was looked at.
func TestSweepIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Settings.KeepRevisions, w.Settings.SweepBatch = 1, 2
	const tenants = 7
	for i := range tenants {
		id := fmt.Sprint("t", i)
		_, err := w.CreateTenant(w.ctx, create(id, "eu"))
		w.must(err)
		for _, route := range []string{"x", "y"} {
			_, err := w.CreateRoute(w.ctx, access.CreateRouteRequest{Actor: alice, Tenant: id, ID: route})
			w.must(err)
		}
	}
	for run := 1; run <= 4; run++ {
		w.must(w.SweepAccess(w.ctx))
		compacted := 0
		for _, head := range w.dump().Tenants {
			if head.Floor == 2 {
				compacted++
			}
		}
		if compacted != min(2*run, tenants) {
			t.Fatalf("after run %d, %d tenants are compacted", run, compacted)
		}
	}
}

// Tenants behind the first page get their turn too, and then the first again.
func TestSweepReachesEveryTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Settings.KeepRevisions = 1
	for i := range store.MaxPage + 1 {
		_, err := w.CreateTenant(w.ctx, create(fmt.Sprintf("t%04d", i), "us"))
		w.must(err)
	}
	for _, id := range []string{fmt.Sprintf("t%04d", store.MaxPage), "t0000"} {
		for _, route := range []string{"x", "y"} {
			_, err := w.CreateRoute(w.ctx, access.CreateRouteRequest{Actor: alice, Tenant: id, ID: route})
			w.must(err)
		}
		w.must(w.SweepAccess(w.ctx))
		w.must(w.SweepAccess(w.ctx))
		view, err := w.Tenant(w.ctx, id)
		w.must(err)
		if view.Tenant.Floor != 2 {
			t.Fatalf("%s was not compacted: %+v", id, view.Tenant)
		}
	}
}

// One tenant that can not be compacted keeps no other from its turn.
func TestSweepGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Settings.KeepRevisions = 1
	for _, id := range []string{"one", "two"} {
		_, err := w.CreateTenant(w.ctx, create(id, "eu"))
		w.must(err)
		for _, route := range []string{"x", "y"} {
			_, err := w.CreateRoute(w.ctx, access.CreateRouteRequest{Actor: alice, Tenant: id, ID: route})
			w.must(err)
		}
	}
	w.Store = &failing{Store: w.mem, at: 1}
	w.refused(w.SweepAccess(w.ctx), fault.Unavailable, "store_unavailable")
	heads := w.dump().Tenants
	if heads[0].Floor != 1 || heads[1].Floor != 2 {
		t.Fatalf("the heads are %+v", heads)
	}
	w.must(w.SweepAccess(w.ctx))
	if heads := w.dump().Tenants; heads[0].Floor != 2 {
		t.Fatalf("the heads are %+v", heads)
	}
}

// Codes are forgotten a while after they expired, and not before: a used one is told apart from one that never was.
func TestSweepForgetsCodes(t *testing.T) {
	t.Parallel()
	w := housed(t)
	w.Settings.SweepBatch = 2
	var keys []string
	for range 3 {
		keys = append(keys, keyOf(w, w.code(authorization.Owner)))
	}
	w.clock.Advance(w.Settings.PairingLife + w.Settings.SecretRetention)
	w.must(w.SweepAccess(w.ctx))
	if left := w.secretsLeft(keys...); left != 3 {
		t.Fatalf("%d are left while they are still told apart", left)
	}
	w.clock.Advance(time.Microsecond)
	for range 2 {
		w.must(w.SweepAccess(w.ctx)) // more than one batch
		if left := w.secretsLeft(keys...); left != 0 {
			t.Fatalf("%d are left", left)
		}
	}
}
