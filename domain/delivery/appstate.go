package delivery

import (
	"slices"
	"time"
)

// AppState is what a customer's platform sees of an app (E7).
type AppState string

// The states.
const (
	StateEntitled  AppState = "entitled"  // not deployed
	StateDeployed  AppState = "deployed"  // by the agent's reports, and by nothing else
	StateInstalled AppState = "installed" // deployed, and the customer's platform says that it installed it
)

// Reported is what the agent said last of an app.
type Reported struct {
	Version    string // that runs; empty: none
	Health     Outcome
	Detail     string
	Revision   int64
	ReportedAt time.Time
	Stale      bool // it is older than reports should be; what it says is still the last that is known
}

// Status is an app as a customer's platform sees it.
type Status struct {
	State            AppState
	Reported         *Reported // nil where there never was a report
	Desired          string    // the version that is to run; empty: none
	Suspended        bool      // by the desired state (E6)
	UpgradeAvailable bool
}

// Known is what a status is made of. Nothing of it comes from probing.
type Known struct {
	Observation Observation // zero where there is none
	Desired     DesiredApp  // of the head; zero where it is not there
	Versions    []string    // that may be chosen, the highest first
}

// StatusOf says how an app stands at now. A report that is older than staleAfter is stale, which never turns it into
// another state.
func StatusOf(k Known, staleAfter time.Duration, now time.Time) Status {
	var s Status
	o := k.Observation
	s.State = StateEntitled
	if !o.ReportedAt.IsZero() {
		s.Reported = &Reported{
			Version: o.Version, Health: o.Outcome, Detail: o.Detail, Revision: o.Revision, ReportedAt: o.ReportedAt,
			Stale: now.Sub(o.ReportedAt) > staleAfter,
		}
		if o.Version != "" && o.Outcome != OutcomeRemoved {
			s.State = StateDeployed
		}
	}
	if s.State == StateDeployed && o.Installed {
		s.State = StateInstalled
	}
	if k.Desired.App != "" && !k.Desired.Removed {
		s.Desired, s.Suspended = k.Desired.Version, k.Desired.Suspended
		s.UpgradeAvailable = slices.ContainsFunc(k.Versions, func(v string) bool { return higher(v, s.Desired) })
	}
	return s
}

// Next is what a customer would ask for next of an app: to install it, or to upgrade it; false where there is nothing.
func (s Status) Next(app string) (Asked, bool) {
	switch {
	case s.Desired == "":
		return Asked{App: app, Action: Install}, true
	case s.UpgradeAvailable:
		return Asked{App: app, Action: Upgrade}, true
	}
	return Asked{}, false
}
