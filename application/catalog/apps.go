package catalog

import (
	"context"

	"berth/domain/delivery"
	"berth/ports/store"
)

// Apps lists the apps, by id.
func (c *Catalog) Apps(ctx context.Context, p store.Page) (store.List[delivery.App], error) {
	var out store.List[delivery.App]
	err := c.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = store.Listed(p, func(p store.Page) ([]delivery.App, error) { return r.Apps.List(ctx, p) }, idOf)
		return err
	})
	return out, err
}

func idOf(a delivery.App) string { return a.ID }

// App returns one app. Fault: NotFound app_not_found.
func (c *Catalog) App(ctx context.Context, id string) (delivery.App, error) {
	var out delivery.App
	err := c.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = r.Apps.Get(ctx, id)
		return err
	})
	return out, err
}

// Releases lists an app's releases, by the bytes of their version. Fault: NotFound app_not_found.
func (c *Catalog) Releases(ctx context.Context, app string, p store.Page) (store.List[delivery.Release], error) {
	var out store.List[delivery.Release]
	err := c.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		if _, err = r.Apps.Get(ctx, app); err != nil {
			return err
		}
		out, err = store.Listed(p, func(p store.Page) ([]delivery.Release, error) { return r.Releases.OfApp(ctx, app, p) }, versionOf)
		return err
	})
	return out, err
}

func versionOf(r delivery.Release) string { return r.Version }

// Release returns one release. Fault: NotFound release_not_found.
func (c *Catalog) Release(ctx context.Context, app, version string) (delivery.Release, error) {
	var out delivery.Release
	err := c.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		out, err = r.Releases.Get(ctx, app, version)
		return err
	})
	return out, err
}
