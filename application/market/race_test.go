package market_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// together submits every request at the same time, each on the replica of its number, and returns what came of each.
func together(replicas []*market.Market, requests ...market.SubmitRequest) ([]delivery.IntentRecord, []error) {
	out, errs := make([]delivery.IntentRecord, len(requests)), make([]error, len(requests))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, in := range requests {
		wg.Go(func() {
			<-start
			for {
				out[i], errs[i] = replicas[i%len(replicas)].SubmitIntent(context.Background(), in)
				if fault.SlugOf(errs[i]) != "desired_state_contended" {
					return
				}
			}
		})
	}
	close(start)
	wg.Wait()
	return out, errs
}

func (w *world) asks(install string, action delivery.Action, app string) market.SubmitRequest {
	return market.SubmitRequest{Caller: w.caller(install, license), Asked: delivery.Asked{App: app, Action: action}}
}

// bothRendered holds up every submission until all of them were prepared: then they meet at the commit.
func bothRendered(replicas []*market.Market, n int) {
	var mu sync.Mutex
	gate, left := make(chan struct{}), n
	for _, m := range replicas {
		m.Desired.(*shelf).during = func(int) { //nolint:forcetypeassert // made so
			mu.Lock()
			if left--; left == 0 {
				close(gate)
			}
			mu.Unlock()
			<-gate
		}
	}
}

// Two intents race for the last place of the quota, on two replicas, also from two deployments of one license: exactly
// one has it, and the sum never goes beyond.
func TestTheLastPlaceOfTheQuotaIsTakenOnce(t *testing.T) {
	t.Parallel()
	for _, second := range []string{install, "ins_2"} {
		t.Run(second, func(t *testing.T) {
			t.Parallel()
			for range 20 {
				w := newWorld(t)
				w.deployment("ins_2", license)
				w.change(func(l *entitlement.License) error {
					_, err := l.Amend(entitlement.Amendment{Quota: &entitlement.Usage{Apps: 1, Replicas: 10, MilliCPU: 1000, MemoryBytes: 1 << 30}}, noon)
					return err
				})
				replicas := []*market.Market{w.Market, w.replica(w.mem, 2)}
				bothRendered(replicas, 2)
				_, errs := together(replicas, w.asks(install, delivery.Install, "db"), w.asks(second, delivery.Install, "blog"))
				if (errs[0] == nil) == (errs[1] == nil) {
					t.Fatalf("got %v and %v", errs[0], errs[1])
				}
				w.against(errors.Join(errs...), "quota_exceeded")
				w.view(func(ctx context.Context, r *store.Roles) error {
					used, err := r.DesiredStates.Usage(ctx, license)
					if used.Apps != 1 {
						t.Fatalf("%d apps are used", used.Apps)
					}
					return err
				})
			}
		})
	}
}

// The same app asked for many times at once is granted once; everybody else is told why not.
func TestTheSameAppManyTimesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replicas := []*market.Market{w.Market, w.replica(w.mem, 2), w.replica(w.mem, 3)}
	const n = 9
	bothRendered(replicas, n)
	_, errs := together(replicas, slices.Repeat([]market.SubmitRequest{w.asks(install, delivery.Install, "db")}, n)...)
	granted := 0
	for _, err := range errs {
		if err == nil {
			granted++
			continue
		}
		w.against(err, "already_deployed", "intent_in_flight")
	}
	if granted != 1 || w.head(install).Revision != 1 {
		t.Errorf("granted %d times, and revision %d", granted, w.head(install).Revision)
	}
}

// What one app needs is uninstalled while the other is installed: never are both granted.
func TestWhatIsNeededIsNotTakenAwayMeanwhile(t *testing.T) {
	t.Parallel()
	for range 20 {
		w := newWorld(t)
		w.installs("db 2.0.0")
		replicas := []*market.Market{w.Market, w.replica(w.mem, 2)}
		_, errs := together(replicas, w.asks(install, delivery.Install, "shop"), w.asks(install, delivery.Uninstall, "db"))
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("got %v and %v", errs[0], errs[1])
		}
		if errs[0] == nil {
			w.against(errs[1], "dependents_remain")
		} else {
			w.against(errs[0], "dependency_missing")
		}
	}
}

// An app is upgraded beyond what another can bear, which is installed meanwhile and about which nothing was known when
// the upgrade was prepared: never are both granted.
func TestWhatIsInstalledMeanwhileIsAskedToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installs("db 1.0.0")
	other := w.replica(w.mem, 2)
	w.shelf.during = func(n int) {
		if n > 2 { // the first installed db
			return
		}
		v, err := other.SubmitIntent(w.ctx, market.SubmitRequest{
			Caller: w.caller(install, license), Asked: delivery.Asked{App: "shop", Action: delivery.Install, Version: "1.0.0"},
		})
		w.must(err)
		w.ended(v.ID)
	}
	_, err := w.submit(delivery.Upgrade, "db", "2.0.0")
	w.against(err, "dependency_conflict")
}

// Many customers' intents at once, with licenses that change meanwhile: at the end every granted intent is in a revision
// of its own, revisions are without a gap, and no license uses more than it may.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var apps []string
	w.do(func(ctx context.Context, r *store.Roles) error {
		for n := range 8 {
			apps = append(apps, fmt.Sprintf("app-%d", n))
			w.release(ctx, r, apps[n]+" 1.0.0")
		}
		w.entitle(ctx, r, license, apps...)
		return nil
	})
	w.deployment("ins_2", license)
	replicas := []*market.Market{w.Market, w.replica(w.mem, 2)}
	var requests []market.SubmitRequest
	for _, app := range apps {
		requests = append(requests, w.asks(install, delivery.Install, app), w.asks("ins_2", delivery.Install, app))
	}
	granted, errs := together(replicas, requests...)
	count := map[string]int64{}
	for i, err := range errs {
		if err == nil {
			count[granted[i].InstallID]++
		} else if slug := fault.SlugOf(err); slug != "quota_exceeded" {
			t.Errorf("got %v", err)
		}
	}
	if count[install]+count["ins_2"] != 10 {
		t.Errorf("granted %v, and the quota is 10", count)
	}
	for id, n := range count {
		head := w.head(id)
		if head.Revision != n || int64(len(head.Apps)) != n {
			t.Errorf("%s: %d granted, revision %d with %d apps", id, n, head.Revision, len(head.Apps))
		}
	}
}
