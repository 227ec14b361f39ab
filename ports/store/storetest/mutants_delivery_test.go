package storetest

import (
	"context"
	"slices"
	"strings"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

func putMutants() []broken {
	put := func(put func(ctx context.Context, t *tx, o store.Observations, os []delivery.Observation) error) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) {
			r.Observations = otherObservations{Observations: r.Observations, t: t, put: put}
		})
	}
	list := func(list func(t *tx, install string) []delivery.Observation) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) {
			r.Observations = otherObservations{Observations: r.Observations, t: t, list: list}
		})
	}
	key := func(o delivery.Observation) string { return compound(o.InstallID, o.App) }
	return []broken{
		{"what is there is not put again", "what is put replaces what was there", put(
			func(ctx context.Context, t *tx, o store.Observations, os []delivery.Observation) error {
				fresh := slices.DeleteFunc(slices.Clone(os), func(v delivery.Observation) bool { return t.state.observations.has(key(v)) })
				return o.Put(ctx, fresh)
			})},
		{"puts as far as it goes", "what is put is put all or none", put(
			func(ctx context.Context, _ *tx, o store.Observations, os []delivery.Observation) error {
				for i := range os {
					if err := o.Put(ctx, os[i:i+1]); err != nil {
						return err
					}
				}
				return nil
			})},
		{"of what is put twice the first counts", "of what is put twice the last counts", put(
			func(ctx context.Context, _ *tx, o store.Observations, os []delivery.Observation) error {
				os = slices.Clone(os)
				slices.Reverse(os)
				return o.Put(ctx, os)
			})},
		{"keeps what it was given", "what is put belongs to the store, what comes back to its caller", put(
			func(ctx context.Context, t *tx, o store.Observations, os []delivery.Observation) error {
				err := o.Put(ctx, os)
				for _, v := range os {
					held, _ := t.state.observations.get(key(v))
					held.Failures = v.Failures
					t.state.observations = t.state.observations.put(key(v), held)
				}
				return err
			})},
		{"gives away what it keeps", "what is put belongs to the store, what comes back to its caller", list(
			func(t *tx, install string) []delivery.Observation {
				return t.state.observations.pick(within(install), 1_000_000, func(o delivery.Observation) bool { return o.InstallID == install })
			})},
		{"finds by the beginning of a key", "what is put is found under its own key only, in order", list(
			func(t *tx, install string) []delivery.Observation {
				return owned(t.state.observations.pick("", 1_000_000, func(o delivery.Observation) bool {
					return strings.HasPrefix(o.InstallID, install)
				}))
			})},
		{"lists in the order of letters", "what is put is found under its own key only, in order", list(
			func(t *tx, install string) []delivery.Observation {
				found := owned(t.state.observations.span(within(install), "", 1_000_000))
				slices.SortStableFunc(found, func(a, b delivery.Observation) int {
					return strings.Compare(strings.ToLower(a.App), strings.ToLower(b.App))
				})
				return found
			})},
		{"puts a thousand at most", "a thousand records are put in one call", put(
			func(ctx context.Context, _ *tx, o store.Observations, os []delivery.Observation) error {
				return o.Put(ctx, os[:min(len(os), 1000)])
			})},
		{"JSON hides a text", "text in lists and maps that can not be held is refused", twisting(func(_ *tx, r *store.Roles) {
			r.DesiredStates = escapingDesired{r.DesiredStates}
		})},
		{"the key of a map is not looked at", "text in lists and maps that can not be held is refused", twisting(func(_ *tx, r *store.Roles) {
			r.Deployments = escapingDeployments{r.Deployments}
		})},
	}
}

type otherObservations struct {
	store.Observations
	t    *tx
	put  func(ctx context.Context, t *tx, o store.Observations, os []delivery.Observation) error
	list func(t *tx, install string) []delivery.Observation
}

func (o otherObservations) Put(ctx context.Context, os []delivery.Observation) error {
	if o.put == nil {
		return o.Observations.Put(ctx, os)
	}
	return o.put(ctx, o.t, o.Observations, os)
}

func (o otherObservations) OfInstall(ctx context.Context, install string) ([]delivery.Observation, error) {
	found, err := o.Observations.OfInstall(ctx, install)
	if o.list == nil || err != nil {
		return found, err
	}
	return o.list(o.t, install), nil
}

type escapingDesired struct{ store.DesiredStates }

func (d escapingDesired) Create(ctx context.Context, v *delivery.Desired) error {
	record := v.Record()
	for i := range record.Apps {
		for key, value := range record.Apps[i].Parameters {
			record.Apps[i].Parameters = map[string]string{key: strings.ToValidUTF8(strings.ReplaceAll(value, "\x00", ""), "")}
		}
	}
	return d.DesiredStates.Create(ctx, delivery.RestoreDesired(record))
}

type escapingDeployments struct{ store.Deployments }

func (d escapingDeployments) Create(ctx context.Context, v *delivery.Deployment) error {
	record := v.Record()
	for i := range record.Selected {
		for key, value := range record.Selected[i].Parameters {
			record.Selected[i].Parameters = map[string]string{strings.ToValidUTF8(strings.ReplaceAll(key, "\x00", ""), ""): value}
		}
	}
	return d.Deployments.Create(ctx, delivery.RestoreDeployment(record))
}

func catalogMutants() []broken {
	outlined := func(change func(os []store.ReleaseOutline) []store.ReleaseOutline) func(*mutant) {
		return twisting(func(_ *tx, r *store.Roles) { r.Releases = otherReleases{r.Releases, change} })
	}
	sorted := func(os []store.ReleaseOutline, by func(o store.ReleaseOutline) string) []store.ReleaseOutline {
		slices.SortStableFunc(os, func(a, b store.ReleaseOutline) int { return strings.Compare(by(a), by(b)) })
		return os
	}
	named := "apps named are those that exist, each once, by id"
	of := "outlines are of the given apps, by app and version"
	return []broken{
		{"an app is named as often as it is asked for", named, twisting(func(_ *tx, r *store.Roles) { r.Apps = repeatingApps{r.Apps} })},
		{"an app that is not there is a fault", named, twisting(func(_ *tx, r *store.Roles) { r.Apps = strictApps{r.Apps} })},
		{"outlines come by version", of, outlined(func(os []store.ReleaseOutline) []store.ReleaseOutline {
			return sorted(os, func(o store.ReleaseOutline) string { return o.Version })
		})},
		{"versions are numbers", of, outlined(func(os []store.ReleaseOutline) []store.ReleaseOutline {
			return sorted(os, func(o store.ReleaseOutline) string { return o.App + strings.Replace(o.Version, ".9.", ".09.", 1) })
		})},
		{"an outline forgets what is required", of, outlined(func(os []store.ReleaseOutline) []store.ReleaseOutline {
			for i := range os {
				os[i].Requires = nil
			}
			return os
		})},
		{"an outline forgets the gate", of, outlined(func(os []store.ReleaseOutline) []store.ReleaseOutline {
			for i := range os {
				os[i].SchemaGate = false
			}
			return os
		})},
		{"outlines are a page", "outlines of many apps are one call", outlined(func(os []store.ReleaseOutline) []store.ReleaseOutline {
			return os[:min(len(os), store.MaxPage)]
		})},
		{"forgetting nothing is no fault", "a registry is forgotten once", twisting(func(_ *tx, r *store.Roles) {
			r.Registries = quietRegistries{r.Registries}
		})},
		{"a customer's licenses are all", "licenses and releases are found by what they belong to", twisting(func(_ *tx, r *store.Roles) {
			r.Licenses = openLicenses{r.Licenses}
		})},
		{"a license's deployments are all", "licenses and releases are found by what they belong to", twisting(func(_ *tx, r *store.Roles) {
			r.Deployments = openDeployments{r.Deployments}
		})},
	}
}

type repeatingApps struct{ store.Apps }

func (a repeatingApps) Named(ctx context.Context, ids []string) (out []delivery.App, err error) {
	for _, id := range slices.Sorted(slices.Values(ids)) {
		one, err := a.Apps.Named(ctx, []string{id})
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

type strictApps struct{ store.Apps }

func (a strictApps) Named(ctx context.Context, ids []string) ([]delivery.App, error) {
	for _, id := range ids {
		if _, err := a.Apps.Get(ctx, id); err != nil {
			return nil, err
		}
	}
	return a.Apps.Named(ctx, ids)
}

type otherReleases struct {
	store.Releases
	change func([]store.ReleaseOutline) []store.ReleaseOutline
}

func (r otherReleases) Outlines(ctx context.Context, apps []string) ([]store.ReleaseOutline, error) {
	os, err := r.Releases.Outlines(ctx, apps)
	return r.change(os), err
}

type quietRegistries struct{ store.Registries }

func (r quietRegistries) Remove(ctx context.Context, host string) error {
	if err := r.Registries.Remove(ctx, host); fault.KindOf(err) != fault.NotFound {
		return err
	}
	return nil
}

type openLicenses struct{ store.Licenses }

func (l openLicenses) List(ctx context.Context, _ string, p store.Page) ([]*entitlement.License, error) {
	return l.Licenses.List(ctx, "", p)
}

type openDeployments struct{ store.Deployments }

func (d openDeployments) List(ctx context.Context, _ string, p store.Page) ([]*delivery.Deployment, error) {
	return d.Deployments.List(ctx, "", p)
}
