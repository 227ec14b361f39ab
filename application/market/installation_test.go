package market_test

import (
	"testing"

	"berth/application/market"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
)

// The platform's word is kept with the time and the version, noted once, and leaves alone what the agent reported.
func TestPlatformsWordIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.report(delivery.Observation{App: "db", Version: "1.0.0", Outcome: delivery.OutcomeHealthy, Revision: 4, Failures: []string{"a"}})
	say := func(installed bool, version string) delivery.Observation {
		t.Helper()
		o, err := w.SetInstallation(w.ctx, market.InstallationRequest{
			Caller: w.caller(install, license), App: "db", Installed: installed, Version: version,
		})
		w.must(err)
		return o
	}
	first := say(true, "1.0.0")
	w.clock.Advance(day)
	again := say(true, "1.0.0")
	if !first.Installed || first.InstalledAs != "1.0.0" || !first.InstalledAt.Equal(noon) || !again.InstalledAt.Equal(noon) {
		t.Errorf("got %+v, then %+v", first, again)
	}
	next := say(true, "1.1.0")
	if next.InstalledAs != "1.1.0" || !next.InstalledAt.Equal(noon.Add(day)) {
		t.Errorf("got %+v", next)
	}
	gone := say(false, "")
	say(false, "1.1.0")
	if gone.Installed || gone.InstalledAs != "" || !gone.InstalledAt.IsZero() || gone.Version != "1.0.0" || gone.Outcome != delivery.OutcomeHealthy ||
		gone.Revision != 4 || len(gone.Failures) != 1 || !gone.ReportedAt.Equal(noon) {
		t.Errorf("got %+v", gone)
	}
	log := w.log("installation.reported")
	var told []string
	for _, e := range log {
		told = append(told, e.Detail["before"]+" → "+e.Detail["after"])
		if e.Actor.Kind != audit.ActorCustomer || e.Actor.ID != install || e.Detail["app"] != "db" {
			t.Errorf("the log has %+v", e)
		}
	}
	want := []string{"not installed → installed 1.0.0", "installed 1.0.0 → installed 1.1.0", "installed 1.1.0 → not installed"}
	if len(told) != 3 || told[0] != want[0] || told[1] != want[1] || told[2] != want[2] {
		t.Errorf("the log has %q", told)
	}
}

// Nothing is kept of an app that never was on the license, and it is not said whether there is one; what was taken off
// can still be told of.
func TestPlatformsWordIsOfItsOwnApps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entitled("shop")
	for app, c := range map[string]struct {
		version, slug string
		kind          fault.Kind
	}{
		"secret": {"1.0.0", "app_not_found", fault.NotFound}, "unknown": {"1.0.0", "app_not_found", fault.NotFound},
		"db": {"1.0.0", "", fault.Internal}, "shop": {"v1.0.0", "version_invalid", fault.Invalid}, "blog": {"", "version_invalid", fault.Invalid},
		"Shop": {"1.0.0", "invalid_id", fault.Invalid},
	} {
		_, err := w.SetInstallation(w.ctx, market.InstallationRequest{Caller: w.caller(install, license), App: app, Installed: true, Version: c.version})
		if c.slug == "" {
			w.must(err)
			continue
		}
		w.refused(err, c.kind, c.slug)
	}
}
