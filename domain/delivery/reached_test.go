package delivery_test

import (
	"strings"
	"testing"

	"berth/domain/delivery"
)

// What was tried in a cluster is remembered in its highest version, through a rollback, an uninstall, and whatever else is
// reported; a text that is no version is not.
func TestTheHighestVersionTriedIsRemembered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before   string
		observed int64
		reported delivery.AppReport
		removed  bool
		want     string
	}{
		"it runs":               {"", 5, delivery.AppReport{App: "a", Version: "2.0.0", Outcome: delivery.OutcomeHealthy}, false, "2.0.0"},
		"it was rolled back":    {"1.0.0", 5, delivery.AppReport{App: "a", Version: "1.0.0", Outcome: delivery.OutcomeRolledBack}, false, "2.0.0"},
		"not applied yet":       {"1.0.0", 4, delivery.AppReport{App: "a", Version: "1.0.0", Outcome: delivery.OutcomeHealthy}, false, "1.0.0"},
		"removed":               {"2.0.0", 5, delivery.AppReport{App: "a", Outcome: delivery.OutcomeRemoved}, true, "2.0.0"},
		"higher before":         {"3.0.0", 5, delivery.AppReport{App: "a", Version: "2.0.0", Outcome: delivery.OutcomeHealthy}, false, "3.0.0"},
		"what is not a version": {"1.0.0", 4, delivery.AppReport{App: "a", Version: "v9", Outcome: delivery.OutcomeHealthy}, false, "1.0.0"},
	} {
		cluster := upgrading()
		cluster.head.Apps[0].Removed = c.removed
		cluster.observations = []delivery.Observation{{InstallID: "ins_1", App: "a", Reached: c.before}}
		cluster.report(delivery.Report{Sequence: 1, Observed: c.observed, Apps: []delivery.AppReport{c.reported}})
		if got := cluster.of("a").Reached; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Uninstalling and installing is no way round the schema gate (E8), nor to a lower version (E4); what was never tried
// stands in nobody's way.
func TestReinstallingIsNoWayRound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reached, version string
		open             bool
		want             string
	}{
		"never tried":                   {"", "2.0.0", false, ""},
		"as it was":                     {"2.0.0", "2.0.0", false, ""},
		"across a gated release":        {"1.0.0", "2.0.0", false, "schema_gate_closed"},
		"the highest, across one":       {"1.0.0", "", false, "schema_gate_closed"},
		"the gate is open":              {"1.0.0", "2.0.0", true, ""},
		"lower than it was":             {"2.0.0", "1.0.0", false, "downgrade_refused"},
		"lower, whether or not gated":   {"2.0.0", "1.0.0", true, "downgrade_refused"},
		"lower than all that there are": {"3.0.0", "", false, "downgrade_refused"},
	} {
		a := granted(delivery.Install)
		a.releases["shop"][2].SchemaGate, a.q.GateOpen, a.q.Asked.Version = true, c.open, c.version
		a.q.Observations = []delivery.Observation{{App: "db", Reached: "9.0.0"}, {App: "shop", Reached: c.reached}}
		var got []string
		for _, f := range a.judge().Against {
			got = append(got, f.Slug)
			if f.Cure == "" {
				t.Errorf("%s: %s has no cure", name, f.Slug)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}
