package berthd

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

const catalogueApps = 5000

// timed runs fn b.N times and reports the median, beside what the framework does.
func timed(b *testing.B, fn func()) {
	b.Helper()
	var took []time.Duration
	b.ReportAllocs()
	before := processed(b)
	for b.Loop() {
		start := time.Now()
		fn()
		took = append(took, time.Since(start))
	}
	b.ReportMetric(float64((processed(b)-before).Microseconds())/1000/float64(len(took)), "cpu-ms/op")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// processed is the processor time that this process took, which other work on the machine changes less than it changes
// how long things take.
func processed(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The list of 50 apps on a license, of 5,000 in the catalogue, its credentials checked. Aimed at: 5 ms p50.
func BenchmarkMarketList(b *testing.B) {
	onEachStore(b, func(b *testing.B, s store.Store) {
		st := newStall(b, catalogueApps, s, s)
		timed(b, func() {
			list, err := st.Apps(b.Context(), st.caller())
			must(b, err)
			if len(list) != entitledApps || list[0].State != delivery.StateDeployed || !list[0].UpgradeAvailable {
				b.Fatalf("%d apps, and first %+v", len(list), list[0])
			}
		})
	})
}

// Validation of an intent for a release of 20 images that are known to be there: rendered, checked, pinned, and refused
// for the quota alone, so that nothing is written. Aimed at: 20 ms.
func BenchmarkIntentValidation(b *testing.B) {
	onEachStore(b, func(b *testing.B, s store.Store) {
		st := newStall(b, catalogueApps, s, s)
		app := st.big()
		st.do(func(ctx context.Context, r *store.Roles) error {
			return store.UpdateIn[*entitlement.License](ctx, r.Licenses, benchedLicense, func(l *entitlement.License) error {
				_, err := l.Amend(entitlement.Amendment{Quota: &entitlement.Usage{Apps: 1000, Replicas: 1, MilliCPU: 1 << 40, MemoryBytes: 1 << 40}}, st.now)
				return err
			})
		})
		timed(b, func() {
			_, err := st.SubmitIntent(b.Context(), market.SubmitRequest{
				Caller: st.caller(), Asked: delivery.Asked{App: app, Action: delivery.Install, Version: "2.0.0"},
			})
			if f, ok := fault.As(err); !ok || len(f.Errors) != 1 || f.Errors[0].Slug != entitlement.QuotaExceeded {
				b.Fatalf("got %v", err)
			}
		})
	})
}

// The same, granted: signed, and committed with its revision, its objects, the intent and the audit log. Each is taken
// back outside of what is measured.
func BenchmarkIntentGranted(b *testing.B) {
	onEachStore(b, func(b *testing.B, s store.Store) {
		st := newStall(b, catalogueApps, s, s)
		app := st.big()
		submit := func(action delivery.Action) string {
			v, err := st.SubmitIntent(b.Context(), market.SubmitRequest{Caller: st.caller(), Asked: delivery.Asked{App: app, Action: action}})
			must(b, err)
			return v.ID
		}
		b.ReportAllocs()
		for b.Loop() {
			id := submit(delivery.Install)
			b.StopTimer()
			st.do(func(ctx context.Context, r *store.Roles) error {
				return store.UpdateIn[*delivery.Intent](ctx, r.Intents, id, func(v *delivery.Intent) error {
					v.Succeed(st.now, "")
					return nil
				})
			})
			submit(delivery.Uninstall)
			b.StartTimer()
		}
	})
}
