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

func objectMutants() []broken {
	objects := func(change func(o otherObjects) otherObjects) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) { r.Objects = change(otherObjects{Objects: r.Objects, t: t}) })
	}
	return []broken{
		{"an address is found in either case", "an object is found by the digest of its content", objects(func(o otherObjects) otherObjects {
			o.get = func(ctx context.Context, sha256 string) ([]byte, error) {
				return o.Objects.Get(ctx, strings.ToLower(sha256))
			}
			return o
		})},
		{"an empty object is none", "an object is found by the digest of its content", objects(func(o otherObjects) otherObjects {
			o.get = func(ctx context.Context, sha256 string) ([]byte, error) {
				got, err := o.Objects.Get(ctx, sha256)
				if err == nil && len(got) == 0 {
					err = store.Missing("object")
				}
				return got, err
			}
			return o
		})},
		{"objects are cut", "objects of a mebibyte come back, a hundred in one call", objects(func(o otherObjects) otherObjects {
			o.read = func(ctx context.Context, install, sha256 string) ([]byte, error) {
				got, err := o.Objects.Read(ctx, install, sha256)
				return got[:min(len(got), 1<<16)], err
			}
			return o
		})},
		{"whoever knows the address reads", "an object is read by whom it was allowed to", objects(func(o otherObjects) otherObjects {
			o.read = func(ctx context.Context, _, sha256 string) ([]byte, error) { return o.Objects.Get(ctx, sha256) }
			return o
		})},
		{"what one may read all may", "an object is read by whom it was allowed to", objects(func(o otherObjects) otherObjects {
			o.read = func(ctx context.Context, _, sha256 string) ([]byte, error) {
				for key := range o.t.state.allowed.above("") {
					if strings.HasSuffix(key, sha256) {
						return o.Objects.Get(ctx, sha256)
					}
				}
				return nil, store.Missing("object")
			}
			return o
		})},
		{"objects are the caller's", "objects belong to the store, and what comes back to its caller", objects(func(o otherObjects) otherObjects {
			o.put = func(_ context.Context, contents ...[]byte) error {
				for _, content := range contents {
					o.t.state.objects = o.t.state.objects.put(addressOf(content), content)
				}
				return nil
			}
			return o
		})},
		{"an object is lent", "objects belong to the store, and what comes back to its caller", objects(func(o otherObjects) otherObjects {
			o.read = func(_ context.Context, _, sha256 string) ([]byte, error) {
				content, _ := o.t.state.objects.get(sha256)
				return content, nil
			}
			return o
		})},
		{"what is not there is allowed", "what belongs to nothing is refused at the commit", objects(func(o otherObjects) otherObjects {
			o.allow = func(ctx context.Context, install string, sha256 ...string) error {
				owed := o.t.owed
				err := o.Objects.Allow(ctx, install, sha256...)
				o.t.owed = owed
				return err
			}
			return o
		})},
		{"an object comes before who may read it", "what it belongs to may be written after it", objects(func(o otherObjects) otherObjects {
			o.allow = func(ctx context.Context, install string, sha256 ...string) error {
				for _, key := range sha256 {
					if !o.t.state.objects.has(key) {
						return store.Dangling()
					}
				}
				return o.Objects.Allow(ctx, install, sha256...)
			}
			return o
		})},
	}
}

type otherObjects struct {
	store.Objects
	t     *tx
	put   func(ctx context.Context, contents ...[]byte) error
	get   func(ctx context.Context, sha256 string) ([]byte, error)
	allow func(ctx context.Context, install string, sha256 ...string) error
	read  func(ctx context.Context, install, sha256 string) ([]byte, error)
}

func (o otherObjects) Put(ctx context.Context, contents ...[]byte) error {
	if o.put == nil {
		return o.Objects.Put(ctx, contents...)
	}
	return o.put(ctx, contents...)
}

func (o otherObjects) Get(ctx context.Context, sha256 string) ([]byte, error) {
	if o.get == nil {
		return o.Objects.Get(ctx, sha256)
	}
	return o.get(ctx, sha256)
}

func (o otherObjects) Allow(ctx context.Context, install string, sha256 ...string) error {
	if o.allow == nil {
		return o.Objects.Allow(ctx, install, sha256...)
	}
	return o.allow(ctx, install, sha256...)
}

func (o otherObjects) Read(ctx context.Context, install, sha256 string) ([]byte, error) {
	if o.read == nil {
		return o.Objects.Read(ctx, install, sha256)
	}
	return o.read(ctx, install, sha256)
}
