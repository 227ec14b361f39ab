package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func catalogLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("apps named are those that exist, each once, by id", appsNamed),
		promise("outlines are of the given apps, by app and version", outlines),
		promise("outlines of many apps are one call", outlinesMany),
		promise("a registry is forgotten once", registryForgotten),
		promise("licenses and releases are found by what they belong to", licensesFound),
	}
}

func appsNamed(k *kit) {
	const many = 700
	var ids, want []string
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range many {
			id := fmt.Sprintf("app-%03d", i)
			ids = append(ids, id)
			if i%3 == 0 {
				continue
			}
			want = append(want, id)
			if err := r.Apps.Create(ctx, delivery.App{ID: id, Name: "the " + id, CreatedAt: noon}); err != nil {
				return err
			}
		}
		return nil
	})
	slices.Reverse(ids)
	name := func(a delivery.App) string { return a.Name[len("the "):] }
	k.gives("named", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Apps.Named(ctx, append(ids, ids...)))(name)
	}, want...)
	k.gives("one named twice", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Apps.Named(ctx, []string{"app-001", "app-000", "app-001"}))(name)
	}, "app-001")
	k.gives("none named", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Apps.Named(ctx, nil))(name)
	})
}

func outlines(k *kit) {
	requires := []delivery.Requirement{{App: "db", Versions: ">=1.0.0, <2"}, {App: "cache"}}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for _, v := range []delivery.Release{
			{App: "b", Version: "1.10.0"}, {App: "b", Version: "1.9.0", SchemaGate: true, Requires: requires},
			{App: "a", Version: "2.0.0-rc.1"}, {App: "B", Version: "1.0.0"}, {App: "bb", Version: "1.0.0"}, {App: "c", Version: "3.0.0"},
		} {
			v.Images, v.Kind = []string{"r/x:1"}, delivery.SourceHelm
			if err := r.Releases.Create(ctx, v); err != nil {
				return err
			}
		}
		return nil
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.Releases.Outlines(ctx, []string{"b", "nobody", "a", "b"})
		if err == nil {
			same(k, "outlines", got, []store.ReleaseOutline{
				{App: "a", Version: "2.0.0-rc.1"}, {App: "b", Version: "1.10.0"},
				{App: "b", Version: "1.9.0", SchemaGate: true, Requires: requires},
			})
			got[2].Requires[0].App = "scribbled"
		}
		none, nerr := r.Releases.Outlines(ctx, nil)
		if len(none) > 0 {
			nerr = errors.New("there are outlines of no app")
		}
		return errors.Join(err, nerr)
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		v, err := r.Releases.Get(ctx, "b", "1.9.0")
		if err == nil {
			same(k, "what is required", v.Requires, requires)
		}
		return err
	})
}

func outlinesMany(k *kit) {
	const many = 600
	var apps, want []string
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range many {
			app := fmt.Sprintf("app-%03d", i)
			apps, want = append(apps, app), append(want, app+" 1.0.0", app+" 1.1.0")
			if err := errors.Join(r.Releases.Create(ctx, delivery.Release{App: app, Version: "1.1.0"}),
				r.Releases.Create(ctx, delivery.Release{App: app, Version: "1.0.0"})); err != nil {
				return err
			}
		}
		return nil
	})
	k.rand.Shuffle(many, func(i, j int) { apps[i], apps[j] = apps[j], apps[i] })
	k.gives("outlines", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Releases.Outlines(ctx, apps))(func(o store.ReleaseOutline) string { return o.App + " " + o.Version })
	}, want...)
}

func registryForgotten(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(
			r.Registries.Create(ctx, delivery.Registry{Host: "a"}), r.Registries.Create(ctx, delivery.Registry{Host: "b"}),
			r.Registries.Remove(ctx, "a"), expect(r.Registries.Remove(ctx, "a"), fault.NotFound, "registry_not_found"),
		)
	})
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return expect(r.Registries.Remove(ctx, "a"), fault.NotFound, "registry_not_found")
	})
	k.gives("registries", func(ctx context.Context, r *store.Roles) ([]string, error) {
		return keysOf(r.Registries.List(ctx, store.Page{Limit: 9}))(func(v delivery.Registry) string { return v.Host })
	}, "b")
}

func licensesFound(k *kit) {
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i, of := range []string{"a", "ab", "A", "a"} {
			id := fmt.Sprint(i)
			if err := errors.Join(r.Licenses.Create(ctx, licenseOf(id, of)), r.Deployments.Create(ctx, deploymentOf(id, of)),
				r.Packages.Create(ctx, delivery.PackageRecord{ID: id, InstallID: of}),
				r.Releases.Create(ctx, delivery.Release{App: of, Version: id})); err != nil {
				return err
			}
		}
		return nil
	})
	page := store.Page{Limit: 9}
	for _, c := range []struct {
		of   string
		want []string
	}{{"a", []string{"0", "3"}}, {"A", []string{"2"}}, {"b", nil}} {
		k.gives("licenses of "+c.of, func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Licenses.List(ctx, c.of, page))(func(v *entitlement.License) string { return v.Record().ID })
		}, c.want...)
		k.gives("deployments of "+c.of, func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Deployments.List(ctx, c.of, page))(func(v *delivery.Deployment) string { return v.Record().InstallID })
		}, c.want...)
		k.gives("packages of "+c.of, func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Packages.OfInstall(ctx, c.of, page))(func(v delivery.PackageRecord) string { return v.ID })
		}, c.want...)
		k.gives("releases of "+c.of, func(ctx context.Context, r *store.Roles) ([]string, error) {
			return keysOf(r.Releases.OfApp(ctx, c.of, page))(func(v delivery.Release) string { return v.Version })
		}, c.want...)
	}
}
