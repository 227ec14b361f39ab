package delivery_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/delivery"
)

const staleAfter = 15 * time.Minute

func observed(with func(*delivery.Observation)) delivery.Observation {
	o := delivery.Observation{App: "shop", Version: "1.0.0", Outcome: delivery.OutcomeHealthy, Revision: 3, ReportedAt: intentNoon}
	with(&o)
	return o
}

// The three states, and what each comes from.
func TestStatesOfAnApp(t *testing.T) {
	t.Parallel()
	there := delivery.DesiredApp{App: "shop", Version: "1.0.0"}
	for name, c := range map[string]struct {
		known delivery.Known
		after time.Duration
		want  delivery.Status
	}{
		"never reported": {known: delivery.Known{Desired: there}, want: delivery.Status{State: delivery.StateEntitled, Desired: "1.0.0"}},
		"nothing at all": {want: delivery.Status{State: delivery.StateEntitled}},
		"installed by the platform, and never reported": {
			known: delivery.Known{Observation: delivery.Observation{App: "shop", Installed: true, InstalledAs: "1.0.0"}},
			want:  delivery.Status{State: delivery.StateEntitled},
		},
		"reported": {
			known: delivery.Known{Observation: observed(func(*delivery.Observation) {}), Desired: there}, after: staleAfter,
			want: delivery.Status{State: delivery.StateDeployed, Desired: "1.0.0"},
		},
		"reported a while ago": {
			known: delivery.Known{Observation: observed(func(*delivery.Observation) {}), Desired: there}, after: staleAfter + 1,
			want: delivery.Status{State: delivery.StateDeployed, Desired: "1.0.0", Reported: &delivery.Reported{Stale: true}},
		},
		"installed": {
			known: delivery.Known{Observation: observed(func(o *delivery.Observation) { o.Installed = true }), Desired: there},
			want:  delivery.Status{State: delivery.StateInstalled, Desired: "1.0.0"},
		},
		"the first install failed": {
			known: delivery.Known{Observation: observed(func(o *delivery.Observation) { o.Version, o.Outcome = "", delivery.OutcomeFailed }), Desired: there},
			want:  delivery.Status{State: delivery.StateEntitled, Desired: "1.0.0"},
		},
		"an upgrade was rolled back": {
			known: delivery.Known{
				Observation: observed(func(o *delivery.Observation) { o.Outcome, o.Installed = delivery.OutcomeRolledBack, true }),
				Desired:     delivery.DesiredApp{App: "shop", Version: "2.0.0"},
			},
			want: delivery.Status{State: delivery.StateInstalled, Desired: "2.0.0"},
		},
		"removed": {
			known: delivery.Known{Observation: observed(func(o *delivery.Observation) { o.Outcome, o.Installed = delivery.OutcomeRemoved, true })},
			want:  delivery.Status{State: delivery.StateEntitled},
		},
		"going": {
			known: delivery.Known{Observation: observed(func(*delivery.Observation) {}), Desired: delivery.DesiredApp{App: "shop", Version: "1.0.0", Removed: true}},
			want:  delivery.Status{State: delivery.StateDeployed},
		},
		"suspended, and an upgrade waits": {
			known: delivery.Known{
				Observation: observed(func(o *delivery.Observation) { o.Outcome = delivery.OutcomeSuspended }),
				Desired:     delivery.DesiredApp{App: "shop", Version: "1.0.0", Suspended: true}, Versions: []string{"1.10.0", "1.0.0"},
			},
			want: delivery.Status{State: delivery.StateDeployed, Desired: "1.0.0", Suspended: true, UpgradeAvailable: true},
		},
		"older versions are no upgrade": {
			known: delivery.Known{Desired: there, Versions: []string{"1.0.0", "1.0.0-rc.1", "0.9.0"}},
			want:  delivery.Status{State: delivery.StateEntitled, Desired: "1.0.0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := delivery.StatusOf(c.known, staleAfter, intentNoon.Add(c.after))
			stale := c.want.Reported != nil && c.want.Reported.Stale
			if o := c.known.Observation; o.ReportedAt.IsZero() != (got.Reported == nil) ||
				got.Reported != nil && *got.Reported != (delivery.Reported{
					Version: o.Version, Health: o.Outcome, Detail: o.Detail, Revision: o.Revision, ReportedAt: o.ReportedAt, Stale: stale,
				}) {
				t.Errorf("reported %+v", got.Reported)
			}
			got.Reported, c.want.Reported = nil, nil
			if got != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// However old a report is, and whatever is desired, a state is what was reported and said: time alone never changes it.
func TestTimeNeverChangesAState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := delivery.Known{Observation: observed(func(o *delivery.Observation) {
			o.Version = rapid.SampledFrom([]string{"", "1.0.0"}).Draw(t, "version")
			o.Outcome = rapid.SampledFrom([]delivery.Outcome{
				delivery.OutcomeHealthy, delivery.OutcomeProgressing, delivery.OutcomeRolledBack, delivery.OutcomeRollbackFailed,
				delivery.OutcomeFailed, delivery.OutcomeSuspended, delivery.OutcomeRemoved,
			}).Draw(t, "outcome")
			o.Installed = rapid.Bool().Draw(t, "installed")
		})}
		fresh := delivery.StatusOf(k, staleAfter, intentNoon)
		k.Desired = delivery.DesiredApp{App: "shop", Version: "2.0.0", Removed: rapid.Bool().Draw(t, "removed")}
		later := delivery.StatusOf(k, staleAfter, intentNoon.Add(time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, "later"))))
		if fresh.State != later.State {
			t.Fatalf("%s became %s", fresh.State, later.State)
		}
		runs := k.Observation.Version != "" && k.Observation.Outcome != delivery.OutcomeRemoved
		if (fresh.State == delivery.StateInstalled) != (runs && k.Observation.Installed) || (fresh.State == delivery.StateEntitled) == runs {
			t.Fatalf("%+v is %s", k.Observation, fresh.State)
		}
	})
}

// What a customer would ask for next is what the list says whether it would be granted.
func TestNextThingToAskFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status delivery.Status
		action delivery.Action
	}{
		{delivery.Status{}, delivery.Install},
		{delivery.Status{State: delivery.StateDeployed}, delivery.Install},
		{delivery.Status{Desired: "1.0.0"}, ""},
		{delivery.Status{Desired: "1.0.0", UpgradeAvailable: true}, delivery.Upgrade},
	} {
		asked, ok := c.status.Next("shop")
		if asked.Action != c.action || ok != (c.action != "") || ok && asked.App != "shop" {
			t.Errorf("%+v: %+v", c.status, asked)
		}
	}
}
