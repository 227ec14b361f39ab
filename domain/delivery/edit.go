package delivery

import (
	"maps"
	"slices"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Standing is whether an app may run at present (E6), and until when an agent that is cut off lets it (D1).
type Standing struct {
	Suspended bool
	RunUntil  time.Time // zero: without an end
}

// Edit is what is to become of apps. One that is not named stays as it is; one that is put and removed is refused.
type Edit struct {
	// Put are apps that are to run. Since, Retry, Suspended, RunUntil and Removed are not theirs to say: they follow from
	// the head and from the standings.
	Put []DesiredApp
	// Remove are apps that are to go: a tombstone says so until the agent reports it done (G9). Where no agent ever
	// enrolled, they just go.
	Remove []string
	// Retry are apps that the agent is to try once more (G5).
	Retry []string
	// Forget are tombstones that the agent reported as removed. Forgetting alone is no reason for a revision.
	Forget []string
	// Standings say which apps may run. An app without one keeps its own; a new one runs.
	Standings map[string]Standing
}

// Apply returns the head that comes of an edit, of the next revision and not signed yet, and what it made of each app.
// next is nil where the edit changes nothing. Faults: Conflict desired_state_frozen, desired_state_exhausted, object_taken; Invalid
// too_many_apps; NotFound app_not_deployed for what is to go or to be retried and is not there; Internal edit_invalid.
func (v *Desired) Apply(e Edit, now time.Time) (next *Desired, diff []Difference, err error) {
	if err := v.Usable(); err != nil {
		return nil, nil, err
	}
	revision := v.record.Revision + 1
	if revision > ident.MaxCounter {
		return nil, nil, fault.New(fault.Conflict, "desired_state_exhausted", "there is no revision left")
	}
	m := editing{apps: slices.Clone(v.record.Apps), revision: revision, tombstones: v.Enrolled()}
	if err := m.apply(e); err != nil {
		return nil, nil, err
	}
	if sameApps(v.record.Apps, m.apps) && v.record.Revision > 0 {
		return nil, nil, nil
	}
	m.forget(e.Forget)
	if err := m.disjoint(); err != nil {
		return nil, nil, err
	}
	if len(m.apps) > MaxDeploymentApps {
		return nil, nil, tooManyApps()
	}
	record := v.record
	record.Revision, record.Apps, record.Usage = revision, m.apps, usageOf(m.apps)
	record.Digest, record.Token, record.At = "", "", ident.Instant(now)
	return &Desired{record}, compare(v.record.Apps, m.apps), nil
}

// editing is one edit at work.
type editing struct {
	apps       []DesiredApp
	revision   int64
	tombstones bool
}

func (m *editing) apply(e Edit) error {
	if err := e.check(); err != nil {
		return err
	}
	for _, app := range e.Put {
		m.put(app)
	}
	for _, app := range e.Remove {
		if err := m.remove(app); err != nil {
			return err
		}
	}
	for _, app := range e.Retry {
		i := find(m.apps, app)
		if i < 0 || m.apps[i].Removed {
			return notDeployed(app)
		}
		m.apps[i].Retry++
	}
	m.stand(e.Standings)
	slices.SortFunc(m.apps, func(a, b DesiredApp) int { return strings.Compare(a.App, b.App) })
	return nil
}

// check refuses what names an app twice: whoever made it is mistaken.
func (e Edit) check() error {
	seen := map[string]bool{}
	names := slices.Clone(e.Remove)
	for _, app := range e.Put {
		names = append(names, app.App)
	}
	for _, app := range names {
		if seen[app] || app == "" {
			return fault.New(fault.Internal, "edit_invalid", "an edit names %q twice", app)
		}
		seen[app] = true
	}
	return nil
}

func (m *editing) put(app DesiredApp) {
	app.Since, app.Retry, app.Suspended, app.RunUntil, app.Removed = m.revision, 0, false, time.Time{}, false
	i := find(m.apps, app.App)
	if i < 0 {
		m.apps = append(m.apps, app)
		return
	}
	before := m.apps[i]
	app.Retry = before.Retry
	if !before.Removed {
		app.Suspended, app.RunUntil = before.Suspended, before.RunUntil
	}
	if sameSubstance(before, app) {
		app.Since = before.Since
	}
	m.apps[i] = app
}

func (m *editing) remove(app string) error {
	i := find(m.apps, app)
	if i < 0 {
		return notDeployed(app)
	}
	before := m.apps[i]
	switch {
	case !m.tombstones:
		m.apps = slices.Delete(m.apps, i, i+1)
	case !before.Removed:
		m.apps[i] = DesiredApp{
			App: app, Version: before.Version, Release: before.Release, Objects: before.Objects, Since: m.revision,
			Retry: before.Retry, Removed: true,
		}
	}
	return nil
}

// disjoint refuses two apps that claim one object: the agent owns it for either, and would give it from hand to hand. What
// is being removed has its objects until it is gone.
func (m *editing) disjoint() error {
	owner := map[string]string{}
	var errs []*fault.Error
	for _, app := range m.apps {
		for _, object := range app.Objects {
			if other, taken := owner[object]; taken {
				errs = append(errs, fault.New(fault.Conflict, "object_taken", "%s has %s, and so has %s", app.App, object, other).At("app").
					Curable("ask the vendor for a release in which it has another name"))
			}
			owner[object] = app.App
		}
	}
	return fault.All(errs...)
}

func (m *editing) stand(standings map[string]Standing) {
	for i, app := range m.apps {
		if s, ok := standings[app.App]; ok && !app.Removed {
			m.apps[i].Suspended, m.apps[i].RunUntil = s.Suspended, instantOrZero(s.RunUntil)
		}
	}
}

func (m *editing) forget(apps []string) {
	m.apps = slices.DeleteFunc(m.apps, func(a DesiredApp) bool { return a.Removed && slices.Contains(apps, a.App) })
}

func instantOrZero(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return ident.Instant(t)
}

func notDeployed(app string) error {
	return fault.New(fault.NotFound, "app_not_deployed", "%q is not among the apps of this deployment", app)
}

// sameSubstance tells whether an app is what failed or held before: suspending and retrying are not part of it (G5).
func sameSubstance(a, b DesiredApp) bool {
	return a.App == b.App && a.Version == b.Version && a.Release == b.Release && a.Manifests == b.Manifests &&
		slices.Equal(a.Images, b.Images) && slices.Equal(a.Objects, b.Objects) &&
		slices.Equal(a.Requires, b.Requires) && slices.Equal(a.Seals, b.Seals) &&
		maps.Equal(a.Parameters, b.Parameters) && a.Removed == b.Removed
}

func sameApps(a, b []DesiredApp) bool { return slices.EqualFunc(a, b, sameApp) }

func sameApp(a, b DesiredApp) bool {
	return sameSubstance(a, b) && a.Usage == b.Usage && a.Since == b.Since && a.Retry == b.Retry &&
		a.Suspended == b.Suspended && a.RunUntil.Equal(b.RunUntil)
}

// SameOutcome tells whether two heads say the same of every app, so that one that was signed ahead may be committed in
// place of the other.
func SameOutcome(a, b *Desired) bool {
	return a.record.InstallID == b.record.InstallID && a.record.Revision == b.record.Revision &&
		sameApps(a.record.Apps, b.record.Apps)
}
