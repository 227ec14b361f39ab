package market_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/ports/store"
)

func (w *world) apps() []market.Listed {
	w.t.Helper()
	list, err := w.Apps(w.ctx, w.caller(install, license))
	w.must(err)
	return list
}

// shown is an app of the list, in short.
func (w *world) shown(app string) string {
	w.t.Helper()
	for _, a := range w.apps() {
		if a.App != app {
			continue
		}
		out := fmt.Sprintf("%s %v", a.State, a.Versions)
		if a.Reported != nil {
			out += fmt.Sprintf(", reported %s %s", a.Reported.Version, a.Reported.Health)
			if a.Reported.Stale {
				out += " (stale)"
			}
		}
		if a.Suspended {
			out += ", suspended"
		}
		if a.UpgradeAvailable {
			out += ", upgrade"
		}
		var blocked []string
		for _, b := range a.Blocked {
			blocked = append(blocked, b.Slug)
		}
		if blocked != nil {
			out += ", blocked by " + strings.Join(blocked, " and ")
		}
		return out
	}
	return "not shown"
}

func (w *world) report(o delivery.Observation) {
	w.t.Helper()
	o.InstallID, o.ReportedAt = install, w.clock.Now()
	w.do(func(ctx context.Context, r *store.Roles) error {
		return r.Observations.Put(ctx, []delivery.Observation{o})
	})
}

func (w *world) expect(app, want string) {
	w.t.Helper()
	if got := w.shown(app); got != want {
		w.t.Errorf("%s: got  %s\nwant %s", app, got, want)
	}
}

// The list has what is on the license, whatever else there is, and nothing of what is not.
func TestListHasWhatIsOnTheLicenseOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := func() (out []string) {
		for _, a := range w.apps() {
			out = append(out, a.App+"="+a.Name)
		}
		return out
	}
	if got := fmt.Sprint(names()); got != "[blog=BLOG db=DB shop=SHOP]" {
		t.Errorf("got %s", got)
	}
	w.entitled("shop", "blog")
	w.expect("db", "not shown")
	w.installs("blog 1.0.0")
	w.entitled("shop")
	if got := fmt.Sprint(names()); got != "[shop=SHOP]" {
		t.Errorf("what was taken off is shown: %s", got)
	}
	w.entitled()
	if list := w.apps(); list == nil || len(list) != 0 {
		t.Errorf("got %+v", list)
	}
}

// From entitled to deployed to installed and back, by reports and by the platform's word, and what can be had next.
func TestListFollowsReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.expect("db", "entitled [2.0.0 1.0.0]")
	w.expect("shop", "entitled [2.0.0 1.1.0 1.0.0], blocked by dependency_missing")
	first := w.granted(delivery.Install, "db", "1.0.0")
	w.expect("db", "entitled [2.0.0 1.0.0], upgrade, blocked by intent_in_flight")
	w.report(delivery.Observation{App: "db", Version: "1.0.0", Outcome: delivery.OutcomeHealthy})
	w.ended(first.ID)
	w.expect("db", "deployed [2.0.0 1.0.0], reported 1.0.0 healthy, upgrade")
	w.expect("shop", "entitled [2.0.0 1.1.0 1.0.0]")
	_, err := w.SetInstallation(w.ctx, market.InstallationRequest{Caller: w.caller(install, license), App: "db", Installed: true, Version: "1.0.0"})
	w.must(err)
	w.expect("db", "installed [2.0.0 1.0.0], reported 1.0.0 healthy, upgrade")
	w.clock.Advance(market.DefaultSettings().StaleAfter + 1)
	w.expect("db", "installed [2.0.0 1.0.0], reported 1.0.0 healthy (stale), upgrade")
	w.ended(w.granted(delivery.Uninstall, "db", "").ID)
	w.expect("db", "deployed [2.0.0 1.0.0], reported 1.0.0 healthy (stale)")
	w.report(delivery.Observation{App: "db", Outcome: delivery.OutcomeRemoved})
	w.expect("db", "entitled [2.0.0 1.0.0], reported  removed")
}

// Versions are those within what the license says; pre-releases and what lies outside are not named.
func TestListNamesVersionsWithinTheLicense(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(func(ctx context.Context, r *store.Roles) error {
		w.release(ctx, r, "blog 1.1.0-rc.1")
		w.release(ctx, r, "blog 1.10.0")
		w.release(ctx, r, "blog 1.9.0")
		return nil
	})
	w.expect("blog", "entitled [1.10.0 1.9.0 1.0.0]")
	w.entitled("blog <1.10.0", "db")
	w.expect("blog", "entitled [1.9.0 1.0.0]")
	w.entitled("blog >=1.1.0-0 <1.9.0")
	w.expect("blog", "entitled [1.1.0-rc.1]")
	w.entitled("blog ^7")
	w.expect("blog", "entitled [], blocked by version_unknown")
}

// What stands against the next thing to ask for is said, also of what is there and has nothing next.
func TestListSaysWhatBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installs("db 1.0.0", "shop 1.1.0", "blog")
	w.expect("shop", "entitled [2.0.0 1.1.0 1.0.0], upgrade, blocked by dependency_conflict")
	w.expect("db", "entitled [2.0.0 1.0.0], upgrade, blocked by dependency_conflict")
	w.expect("blog", "entitled [1.0.0]")
	w.change(func(l *entitlement.License) error { return l.Suspend(noon) })
	w.expect("blog", "entitled [1.0.0], blocked by license_inactive")
	w.clock.Advance(31 * day)
	w.expect("blog", "entitled [1.0.0], blocked by license_expired and license_inactive")
	w.expect("db", "entitled [2.0.0 1.0.0], upgrade, blocked by dependency_conflict and license_expired and license_inactive")
	observe := entitlement.Observe
	w.change(func(l *entitlement.License) error {
		_, err := l.Amend(entitlement.Amendment{Enforcement: &observe}, noon)
		return err
	})
	w.expect("blog", "entitled [1.0.0]")
	w.expect("db", "entitled [2.0.0 1.0.0], upgrade, blocked by dependency_conflict")
}

// change changes the license, as licensing does it.
func (w *world) change(change func(*entitlement.License) error) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		w.must(store.UpdateIn[*entitlement.License](ctx, r.Licenses, license, change))
		return r.Deployments.Review(ctx, license, w.clock.Now())
	})
}

// A customer sees its license, without what could prove it, and what all of its deployments use.
func TestLicenseShowsWhatIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployment("ins_2", license)
	w.installs("db 1.0.0")
	_, err := w.SubmitIntent(w.ctx, market.SubmitRequest{
		Caller: w.caller("ins_2", license), Asked: delivery.Asked{App: "blog", Action: delivery.Install},
	})
	w.must(err)
	got, err := w.License(w.ctx, w.caller(install, license))
	w.must(err)
	if got.ID != license || got.KeyHash != [32]byte{} || got.Apps != 3 || got.Used != (entitlement.Usage{Apps: 2, Replicas: 2, MilliCPU: 200, MemoryBytes: 2 << 20}) {
		t.Errorf("got %+v", got)
	}
}
