package delivery

import "slices"

// What one revision made of one app.
const (
	DiffInstalled    = "installed"
	DiffUpgraded     = "upgraded"
	DiffDowngraded   = "downgraded"
	DiffReconfigured = "reconfigured" // same version, other parameters or digests
	DiffRetried      = "retried"
	DiffSuspended    = "suspended"
	DiffResumed      = "resumed"
	DiffExtended     = "extended"  // it may run for longer without the control plane
	DiffShortened    = "shortened" // or for less long
	DiffRemoved      = "removed"
	DiffForgotten    = "forgotten" // it is gone from the list: a tombstone that served, or what no agent ever saw
)

// compare returns what became of each app, by app, and for one app in the order of DiffInstalled to DiffForgotten.
func compare(before, after []DesiredApp) []Difference {
	var diff []Difference
	for _, app := range union(before, after) {
		i, j := find(before, app), find(after, app)
		switch {
		case j < 0:
			diff = append(diff, Difference{App: app, What: DiffForgotten, Before: versionOf(before[i])})
		case i < 0:
			diff = append(diff, differences(DesiredApp{App: app, Removed: true}, after[j])...)
		default:
			diff = append(diff, differences(before[i], after[j])...)
		}
	}
	return diff
}

func union(before, after []DesiredApp) []string {
	var names []string
	for _, a := range slices.Concat(before, after) {
		names = append(names, a.App)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// versionOf is the version that is to run; empty for a tombstone.
func versionOf(a DesiredApp) string {
	if a.Removed {
		return ""
	}
	return a.Version
}

func differences(before, after DesiredApp) []Difference {
	one := func(what string) Difference {
		return Difference{App: after.App, What: what, Before: versionOf(before), After: versionOf(after)}
	}
	if after.Removed {
		if before.Removed {
			return nil
		}
		return []Difference{one(DiffRemoved)}
	}
	var out []Difference
	add := func(when bool, what string) {
		if when {
			out = append(out, one(what))
		}
	}
	if what := substance(before, after); what != "" {
		out = append(out, one(what))
	}
	add(after.Retry > before.Retry && !before.Removed, DiffRetried)
	add(after.Suspended && !before.Suspended, DiffSuspended)
	add(!after.Suspended && before.Suspended, DiffResumed)
	if !before.Removed {
		add(later(after, before), DiffExtended)
		add(later(before, after), DiffShortened)
	}
	return out
}

func substance(before, after DesiredApp) string {
	switch {
	case before.Removed:
		return DiffInstalled
	case sameSubstance(before, after):
		return ""
	case before.Version == after.Version:
		return DiffReconfigured
	case CompareVersions(after.Version, before.Version) > 0:
		return DiffUpgraded
	}
	return DiffDowngraded
}

// later tells whether one may run for longer than another; without an end is longest.
func later(a, b DesiredApp) bool {
	if a.RunUntil.IsZero() || b.RunUntil.IsZero() {
		return a.RunUntil.IsZero() && !b.RunUntil.IsZero()
	}
	return a.RunUntil.After(b.RunUntil)
}
