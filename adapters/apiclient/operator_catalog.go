package apiclient

import (
	"context"
	"net/http"

	"berth/adapters/contract"
)

// CreateApp adds an app to the catalogue.
func (o Operator) CreateApp(ctx context.Context, in contract.NewApp) (contract.App, error) {
	return post[contract.App](ctx, o.c, api+"/apps", in)
}

// App shows an app.
func (o Operator) App(ctx context.Context, app string) (contract.App, error) {
	return get[contract.App](ctx, o.c, api+"/apps"+seg(app), nil)
}

// Apps lists the catalogue by id.
func (o Operator) Apps(ctx context.Context, p Page) (contract.Apps, error) {
	return get[contract.Apps](ctx, o.c, api+"/apps", p.query())
}

// CreateRelease adds a version of an app, which never changes. The same again is answered as the first time.
func (o Operator) CreateRelease(ctx context.Context, app string, in contract.NewRelease) (contract.Release, error) {
	return post[contract.Release](ctx, o.c, api+"/apps"+seg(app)+"/releases", in)
}

// Release shows a version of an app.
func (o Operator) Release(ctx context.Context, app, version string) (contract.Release, error) {
	return get[contract.Release](ctx, o.c, api+"/apps"+seg(app)+"/releases"+seg(version), nil)
}

// Releases lists the releases of an app by the bytes of their version.
func (o Operator) Releases(ctx context.Context, app string, p Page) (contract.Releases, error) {
	return get[contract.Releases](ctx, o.c, api+"/apps"+seg(app)+"/releases", p.query())
}

// AddRegistry registers a place that images and charts may come from.
func (o Operator) AddRegistry(ctx context.Context, in contract.NewRegistry) (contract.Registry, error) {
	return post[contract.Registry](ctx, o.c, api+"/registries", in)
}

// Registries lists the registries by host.
func (o Operator) Registries(ctx context.Context, p Page) (contract.Registries, error) {
	return get[contract.Registries](ctx, o.c, api+"/registries", p.query())
}

// RemoveRegistry makes a registry one that nothing may come from.
func (o Operator) RemoveRegistry(ctx context.Context, host string) error {
	_, err := o.c.do(ctx, call{method: http.MethodDelete, path: api + "/registries" + seg(host)})
	return err
}
