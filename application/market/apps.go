package market

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// MaxVersions is how many versions of an app a list names, the highest.
const MaxVersions = 100

// Listed is an app on the caller's license.
type Listed struct {
	App      string
	Name     string
	Versions []string // that may be asked for, the highest first; at most MaxVersions
	delivery.Status
	Blocked []*fault.Error // what stands against the next thing to ask for: to install it, or to upgrade it; by slug
}

// Apps lists the apps on the caller's license, by id, and nothing of any other (E3). Those that were taken off are gone
// from it at once, also while they still run. What is Blocked is judged as an intent is, but for what rendering and
// registries would say.
func (m *Market) Apps(ctx context.Context, c Caller) ([]Listed, error) {
	now := m.Clock.Now()
	var f facts
	var names map[string]string
	var known []delivery.Outline
	err := m.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		if f, err = gather(ctx, r, c, now); err != nil {
			return err
		}
		if names, err = named(ctx, r, f.listed()); err != nil {
			return err
		}
		known, err = outlines(ctx, r, f.concerned(slices.Sorted(maps.Keys(names))...))
		return err
	})
	if err != nil {
		return nil, err
	}
	catalogue := delivery.NewCatalogue(known)
	out := make([]Listed, 0, len(names))
	for _, app := range slices.Sorted(maps.Keys(names)) {
		out = append(out, m.listed(f, catalogue, app, names[app]))
	}
	return out, nil
}

// listed are the apps that the license entitles to.
func (f facts) listed() []string {
	var apps []string
	for _, e := range f.entitlements {
		if e.WithdrawnAt.IsZero() {
			apps = append(apps, e.App)
		}
	}
	return apps
}

// concerned are the apps, and those of the head.
func (f facts) concerned(apps ...string) []string {
	for _, a := range f.head.Apps {
		apps = append(apps, a.App)
	}
	return apps
}

func named(ctx context.Context, r *store.Roles, apps []string) (map[string]string, error) {
	list, err := r.Apps.Named(ctx, apps)
	names := make(map[string]string, len(list))
	for _, a := range list {
		names[a.ID] = a.Name
	}
	return names, err
}

func (m *Market) listed(f facts, catalogue *delivery.Catalogue, app, name string) Listed {
	e, _ := f.entitled(app)
	versions := catalogue.Within(app, e.Versions)
	out := Listed{App: app, Name: name, Versions: versions[:min(len(versions), MaxVersions)]}
	out.Status = delivery.StatusOf(delivery.Known{
		Observation: f.observations[app], Desired: f.desired(app), Versions: versions,
	}, m.Settings.StaleAfter, f.now)
	out.Blocked = f.blocked(e, catalogue, out.Status)
	return out
}

// blocked is what stands against what would be asked for next; of an app for which that is nothing, what the license says.
func (f facts) blocked(e entitlement.Entitlement, catalogue *delivery.Catalogue, s delivery.Status) []*fault.Error {
	asked, ok := s.Next(e.App)
	var against []*fault.Error
	if ok {
		against = delivery.Judge(f.question(asked, catalogue)).Against
	} else {
		against = slices.DeleteFunc(f.license.Judge(&e, f.now), func(x *fault.Error) bool { return f.license.Commercial(&e, x.Slug) })
	}
	slices.SortStableFunc(against, func(a, b *fault.Error) int { return cmp.Compare(a.Slug, b.Slug) })
	return slices.CompactFunc(against, func(a, b *fault.Error) bool { return a.Slug == b.Slug && a.Cure == b.Cure })
}
