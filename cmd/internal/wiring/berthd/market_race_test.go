package berthd

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/e2e/lab"
	"berth/ports/store"
)

// Two intents race for the last place of a license's quota, on two replicas that share a database: exactly one is
// granted, and the other is told why not. Memory's part of this promise is in application/market.
func TestTwoReplicasGrantTheLastPlaceOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.db")
	for name, open := range map[string]func() (first, second store.Store){
		"sqlite": func() (store.Store, store.Store) { return onSQLite(t, path), onSQLite(t, path) },
		"postgres": func() (store.Store, store.Store) {
			dsn := lab.Postgres(t)
			return onPostgres(t, dsn), onPostgres(t, dsn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := open()
			left := 10
			st := newStall(t, entitledApps, first, second)
			for app := 10; app+chain < entitledApps; app += chain { // those that are not there yet and need no other
				left = st.race(t, left, app+chain)
			}
		})
	}
}

// race leaves room for one app more and asks for two, on a replica each. It returns the one that was not granted.
func (st *stall) race(t *testing.T, apps ...int) (left int) {
	t.Helper()
	var used entitlement.Usage
	st.do(func(ctx context.Context, r *store.Roles) (err error) {
		if used, err = r.DesiredStates.Usage(ctx, benchedLicense); err != nil {
			return err
		}
		quota := entitlement.Usage{Apps: used.Apps + 1, Replicas: 1000, MilliCPU: 100_000, MemoryBytes: 1 << 40}
		return store.UpdateIn[*entitlement.License](ctx, r.Licenses, benchedLicense, func(l *entitlement.License) error {
			_, err := l.Amend(entitlement.Amendment{Quota: &quota}, st.now)
			return err
		})
	})
	var wg sync.WaitGroup
	var errs [2]error
	start := make(chan struct{})
	for i, on := range []*market.Market{st.Market, st.other} {
		asked := delivery.Asked{App: appName(apps[i]), Action: delivery.Install}
		in := market.SubmitRequest{Caller: st.caller(), Asked: asked}
		wg.Go(func() {
			<-start
			for {
				if _, errs[i] = on.SubmitIntent(context.Background(), in); fault.KindOf(errs[i]) != fault.Unavailable || errs[i] == nil {
					return
				}
			}
		})
	}
	close(start)
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("%v: got %v and %v", apps, errs[0], errs[1])
	}
	if f, ok := fault.As(errors.Join(errs[:]...)); !ok || len(f.Errors) != 1 || f.Errors[0].Slug != entitlement.QuotaExceeded {
		t.Fatalf("%v: got %+v", apps, f)
	}
	st.do(func(ctx context.Context, r *store.Roles) error {
		after, err := r.DesiredStates.Usage(ctx, benchedLicense)
		if after.Apps != used.Apps+1 {
			t.Fatalf("%v: %d apps were used, and now %d", apps, used.Apps, after.Apps)
		}
		return err
	})
	if errs[0] == nil {
		return apps[1]
	}
	return apps[0]
}
