package storetest

import (
	"context"
	"math"
	"slices"

	"berth/domain/delivery"
	"berth/ports/store"
)

func appKind() kind[delivery.App, delivery.App] {
	return kind[delivery.App, delivery.App]{
		thing: "app", tree: func(s *state) *tree[delivery.App] { return &s.apps },
		key:    func(r delivery.App) string { return r.ID },
		record: self[delivery.App], restore: self[delivery.App],
	}
}

type apps struct {
	aggregate[delivery.App, delivery.App]
}

func (a apps) List(_ context.Context, p store.Page) ([]delivery.App, error) {
	return a.page(p, anything)
}

func (a apps) Named(_ context.Context, ids []string) ([]delivery.App, error) {
	if err := a.reading(ids...); err != nil {
		return nil, err
	}
	var out []delivery.App
	for _, id := range distinct(ids) {
		if r, found := a.state.apps.get(id); found {
			out = append(out, own(r))
		}
	}
	return out, nil
}

func distinct(keys []string) []string { return slices.Compact(slices.Sorted(slices.Values(keys))) }

type releases struct{ *tx }

func (r releases) Create(_ context.Context, v delivery.Release) error {
	return addOne(r.tx, &r.state.releases, "release", v, v.App, v.Version)
}

func (r releases) Get(_ context.Context, app, version string) (delivery.Release, error) {
	return getOne(r.tx, r.state.releases, "release", app, version)
}

func (r releases) OfApp(_ context.Context, app string, p store.Page) ([]delivery.Release, error) {
	if err := r.reading(app, p.After); err != nil {
		return nil, err
	}
	return owned(r.state.releases.span(within(app), compound(app, p.After), p.Size())), nil
}

func (r releases) Outlines(_ context.Context, apps []string) ([]store.ReleaseOutline, error) {
	if err := r.reading(apps...); err != nil {
		return nil, err
	}
	var out []store.ReleaseOutline
	for _, app := range distinct(apps) {
		for _, v := range r.state.releases.span(within(app), "", math.MaxInt) {
			out = append(out, own(store.ReleaseOutline{App: v.App, Version: v.Version, Requires: v.Requires, SchemaGate: v.SchemaGate}))
		}
	}
	return out, nil
}

func registryKind() kind[delivery.Registry, delivery.Registry] {
	return kind[delivery.Registry, delivery.Registry]{
		thing: "registry", tree: func(s *state) *tree[delivery.Registry] { return &s.registries },
		key:    func(r delivery.Registry) string { return r.Host },
		record: self[delivery.Registry], restore: self[delivery.Registry],
	}
}

type registries struct {
	aggregate[delivery.Registry, delivery.Registry]
}

func (r registries) List(_ context.Context, p store.Page) ([]delivery.Registry, error) {
	return r.page(p, anything)
}

func (r registries) Remove(_ context.Context, host string) error { return r.remove(host) }
