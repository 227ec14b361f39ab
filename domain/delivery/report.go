package delivery

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/ident"
)

// The bounds of a report. Texts that are longer are cut: an agent must get its report through.
const (
	maxReportDetail = 1 << 10
	maxFailures     = 32
	maxFailure      = 512
	maxDrifts       = 100
	maxDrift        = 256
)

// Report is what an agent says of its cluster.
type Report struct {
	Sequence int64 // grows by one with each report
	Observed int64 // the revision of the desired state that it is about
	Apps     []AppReport
	Drift    []string // objects that somebody else changed
	Version  string   // of the agent
}

// AppReport is what runs of an app, and what became of what was to run.
type AppReport struct {
	App      string
	Version  string // that runs: after a rollback the one before (G10); empty: none
	Outcome  Outcome
	Detail   string
	Failures []string
	Digest   string // of the manifests that run
}

// Check refuses a report that nobody could make sense of. Invalid, each problem named: out_of_range, report_invalid,
// invalid_id, outcome_unknown, version_invalid, app_repeated, too_many_apps.
func (r Report) Check() error {
	errs := []*fault.Error{ident.Counter("sequence", r.Sequence), ident.Counter("observed_revision", r.Observed)}
	if r.Sequence == 0 {
		errs = append(errs, invalid("out_of_range", "sequences begin with 1").At("sequence"))
	}
	if len(r.Apps) > MaxDeploymentApps {
		return fault.All(append(errs, invalid("too_many_apps", "a report names at most %d apps", MaxDeploymentApps).At("apps"))...)
	}
	seen := map[string]bool{}
	for i, a := range r.Apps {
		errs = append(errs, within("apps", within(strconv.Itoa(i), a.check(seen[a.App])...)...)...)
		seen[a.App] = true
	}
	return fault.All(errs...)
}

func (a AppReport) check(repeated bool) []*fault.Error {
	var errs []*fault.Error
	if err := ident.Check("app", a.App); err != nil {
		errs = append(errs, err)
	}
	if repeated {
		errs = append(errs, invalid("app_repeated", "an app is reported once").At("app"))
	}
	if a.Version != "" {
		if err := CheckVersion(a.Version); err != nil {
			errs = append(errs, err.At("version"))
		}
	}
	switch a.Outcome {
	case OutcomeHealthy, OutcomeProgressing, OutcomeRolledBack, OutcomeRollbackFailed, OutcomeFailed, OutcomeSuspended, OutcomeRemoved:
	default:
		errs = append(errs, invalid("outcome_unknown", "no outcome is called so").At("outcome"))
	}
	if !validValue(a.Digest, maxFailure) {
		errs = append(errs, invalid("report_invalid", "a digest is short").At("digest"))
	}
	return errs
}

func (r Report) drift() []string { return clipAll(r.Drift, maxDrifts, maxDrift) }

func clipAll(texts []string, most, longest int) []string {
	var out []string
	for _, t := range texts[:min(len(texts), most)] {
		out = append(out, clip(t, longest))
	}
	return out
}

// clip bounds a text that an agent sent, and leaves nothing in it that a store could not keep.
func clip(text string, most int) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text[:min(len(text), most)], ""), "\x00", "")
}

// Standpoint is what a report is judged on.
type Standpoint struct {
	Head         DesiredRecord
	Observations []Observation
	InFlight     []*Intent
	Entitled     []entitlement.Entitlement // of the license, withdrawn ones too
	Now          time.Time
}

// ReportVerdict is what follows from a report.
type ReportVerdict struct {
	Observations []Observation // to be stored
	Intents      []*Intent     // that moved
	Quarantined  []string      // apps that failed now and are not tried again (G5)
}

// Judge says what follows from a report that was taken. The caller made sure that its revision is one of this history.
// What is kept is what the agent says to run, never what was to run (G10), of apps that may ever have been delivered: what
// an agent makes up can not fill a store. It changes the intents that it is given.
func (r Report) Judge(at Standpoint) ReportVerdict {
	var v ReportVerdict
	for _, a := range r.Apps {
		desired, wanted := at.app(a.App)
		if !wanted && !at.knows(a.App) {
			continue
		}
		o := at.observation(r, a)
		if wanted {
			before := o.Quarantined
			o.Quarantined = a.quarantine(r.Observed, desired, before)
			o.Reached = a.reached(r.Observed, desired, o.Reached)
			if o.Quarantined != 0 && o.Quarantined != before {
				v.Quarantined = append(v.Quarantined, a.App)
			}
		}
		v.Observations = append(v.Observations, o)
		v.Intents = append(v.Intents, at.moved(r, a, desired)...)
	}
	return v
}

// moved are the intents that a report brought on.
func (at Standpoint) moved(r Report, a AppReport, desired DesiredApp) []*Intent {
	var out []*Intent
	for _, intent := range at.InFlight {
		about := intent.Record().App == a.App && r.Observed >= intent.Record().Revision
		if about && a.moves(intent, desired, at.Now) {
			out = append(out, intent)
		}
	}
	return out
}

func (at Standpoint) app(name string) (DesiredApp, bool) {
	i := find(at.Head.Apps, name)
	if i < 0 {
		return DesiredApp{}, false
	}
	return at.Head.Apps[i], true
}

// knows tells whether an app that is not desired now may be in the cluster all the same.
func (at Standpoint) knows(app string) bool {
	return slices.ContainsFunc(at.Observations, func(o Observation) bool { return o.App == app }) ||
		slices.ContainsFunc(at.Entitled, func(e entitlement.Entitlement) bool { return e.App == app })
}

func (at Standpoint) observation(r Report, a AppReport) Observation {
	o := Observation{InstallID: at.Head.InstallID, App: a.App}
	if i := slices.IndexFunc(at.Observations, func(o Observation) bool { return o.App == a.App }); i >= 0 {
		o = at.Observations[i]
	}
	o.Version, o.Outcome, o.Digest = a.Version, a.Outcome, a.Digest
	o.Detail, o.Failures = clip(a.Detail, maxReportDetail), clipAll(a.Failures, maxFailures, maxFailure)
	o.Revision, o.ReportedAt = r.Observed, ident.Instant(at.Now)
	return o
}

// reached is the highest version that was tried: what runs, and what was applied, whatever became of it.
func (a AppReport) reached(observed int64, desired DesiredApp, before string) string {
	tried := []string{a.Version}
	if observed >= desired.Since && !desired.Removed {
		tried = append(tried, desired.Version)
	}
	for _, version := range tried {
		if CheckVersion(version) == nil && (before == "" || higher(version, before)) {
			before = version
		}
	}
	return before
}

// quarantine is the key of what failed. A report on a revision before the app became what it is now says nothing of it.
func (a AppReport) quarantine(observed int64, desired DesiredApp, before int64) int64 {
	switch {
	case observed < desired.Since || desired.Removed:
		return before
	case a.failed():
		return desired.Since
	case a.runs(desired):
		return 0
	}
	return before
}

func (a AppReport) failed() bool {
	return a.Outcome == OutcomeRolledBack || a.Outcome == OutcomeRollbackFailed || a.Outcome == OutcomeFailed
}

// runs tells whether what is reported healthy is what was to run, and not the version before it.
func (a AppReport) runs(desired DesiredApp) bool {
	digest := strings.TrimPrefix(a.Digest, "sha256:")
	same := !validSHA256(digest) || digest == desired.Manifests.SHA256 || digest == desired.Release
	return a.Outcome == OutcomeHealthy && a.Version == desired.Version && same && !desired.Removed
}

// moves brings an intent on, by what is reported on a revision that carries it.
func (a AppReport) moves(intent *Intent, desired DesiredApp, now time.Time) bool {
	detail := clip(a.Detail, maxReportDetail)
	if intent.Record().Action == Uninstall {
		if a.Outcome == OutcomeRemoved {
			return intent.Succeed(now, detail)
		}
	} else if a.runs(desired) {
		return intent.Succeed(now, detail)
	}
	switch a.Outcome {
	case OutcomeProgressing:
		return intent.Deliver(now, detail)
	case OutcomeRolledBack:
		return intent.RollBack(now, detail)
	case OutcomeFailed, OutcomeRollbackFailed:
		return intent.Fail(now, detail)
	case OutcomeHealthy, OutcomeSuspended, OutcomeRemoved:
	}
	return false
}
