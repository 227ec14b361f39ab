package operator

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/catalog"
	"berth/domain/delivery"
	"berth/domain/identity"
)

// AppPath is the app in a path.
type AppPath struct {
	App string `path:"app" maxLength:"63"`
}

type appOut struct{ Body contract.App }

func (d Deps) apps(api huma.API) {
	huma.Register(api, op(identity.RoleOperator, "create-app", "POST", "/apps", "Add an app to the catalogue", httpapi.Created),
		func(ctx context.Context, in *struct{ Body contract.NewApp }) (*appOut, error) {
			a, err := d.Catalog.CreateApp(ctx, catalog.CreateAppRequest{Actor: actor(ctx), ID: in.Body.ID, Name: in.Body.Name})
			return &appOut{contract.App(a)}, err
		})
	huma.Register(api, op(identity.RoleViewer, "list-apps", "GET", "/apps", "List the catalogue", httpapi.OK),
		func(ctx context.Context, in *httpapi.Paging) (*struct{ Body contract.Apps }, error) {
			p, err := in.Page()
			if err != nil {
				return nil, err
			}
			list, err := d.Catalog.Apps(ctx, p)
			if err != nil {
				return nil, err
			}
			apps := httpapi.Each(list.Items, func(a delivery.App) contract.App { return contract.App(a) })
			return &struct{ Body contract.Apps }{contract.Apps{Apps: apps, Next: httpapi.Cursor(list.Next)}}, nil
		})
	huma.Register(api, op(identity.RoleViewer, "get-app", "GET", "/apps/{app}", "Show an app", httpapi.OK),
		func(ctx context.Context, in *AppPath) (*appOut, error) {
			a, err := d.Catalog.App(ctx, in.App)
			return &appOut{contract.App(a)}, err
		})
}

// releaseOut is 201 where the release is new, and 200 where it was there before.
type releaseOut struct {
	Status int
	Body   contract.Release
}

func (d Deps) releases(api huma.API) {
	create := op(identity.RoleOperator, "create-release", "POST", "/apps/{app}/releases",
		"Add a release, which never changes; 200 where the same one is there already", httpapi.Created)
	huma.Register(api, create, d.createRelease)
	huma.Register(api, op(identity.RoleViewer, "list-releases", "GET", "/apps/{app}/releases", "List an app's releases", httpapi.OK),
		func(ctx context.Context, in *struct {
			AppPath
			httpapi.Paging
		}) (*struct{ Body contract.Releases }, error) {
			p, err := in.Page()
			if err != nil {
				return nil, err
			}
			list, err := d.Catalog.Releases(ctx, in.App, p)
			if err != nil {
				return nil, err
			}
			return &struct{ Body contract.Releases }{contract.Releases{
				Releases: httpapi.Each(list.Items, release), Next: httpapi.Cursor(list.Next),
			}}, nil
		})
	huma.Register(api, op(identity.RoleViewer, "get-release", "GET", "/apps/{app}/releases/{version}", "Show a release", httpapi.OK),
		func(ctx context.Context, in *struct {
			AppPath
			Version string `path:"version" maxLength:"64"`
		}) (*struct{ Body contract.Release }, error) {
			r, err := d.Catalog.Release(ctx, in.App, in.Version)
			return &struct{ Body contract.Release }{release(r)}, err
		})
}

func (d Deps) createRelease(ctx context.Context, in *struct {
	AppPath
	Body contract.NewRelease
}) (*releaseOut, error) {
	parameters, err := declared(in.Body.Parameters)
	if err != nil {
		return nil, err
	}
	made, err := d.Catalog.CreateRelease(ctx, catalog.CreateReleaseRequest{
		Actor: actor(ctx), App: in.App, Version: in.Body.Version, Kind: delivery.SourceKind(in.Body.Source.Kind),
		Files: in.Body.Source.Files, Chart: in.Body.Source.Chart, Parameters: parameters,
		Requires:  httpapi.Each(in.Body.Requires, func(r contract.Requirement) delivery.Requirement { return delivery.Requirement(r) }),
		Externals: in.Body.Externals, SchemaGate: in.Body.SchemaGate,
	})
	if err != nil {
		return nil, err
	}
	status := httpapi.OK
	if made.New {
		status = httpapi.Created
	}
	return &releaseOut{status, release(made.Release)}, nil
}

type registryOut struct{ Body contract.Registry }

func (d Deps) registries(api huma.API) {
	huma.Register(api, op(identity.RoleAdmin, "add-registry", "POST", "/registries",
		"Register a place that images and charts may come from; there is no other", httpapi.Created),
		func(ctx context.Context, in *struct{ Body contract.NewRegistry }) (*registryOut, error) {
			r, err := d.Catalog.AddRegistry(ctx, catalog.AddRegistryRequest{Actor: actor(ctx), Registry: delivery.Registry{
				Host: in.Body.Host, CredentialsRef: in.Body.CredentialsRef, CA: in.Body.CA, MirrorOf: in.Body.MirrorOf, PlainHTTP: in.Body.PlainHTTP,
			}})
			return &registryOut{contract.Registry(r)}, err
		})
	huma.Register(api, op(identity.RoleViewer, "list-registries", "GET", "/registries", "List the registries", httpapi.OK),
		func(ctx context.Context, in *httpapi.Paging) (*struct{ Body contract.Registries }, error) {
			p, err := in.Page()
			if err != nil {
				return nil, err
			}
			list, err := d.Catalog.Registries(ctx, p)
			if err != nil {
				return nil, err
			}
			all := httpapi.Each(list.Items, func(r delivery.Registry) contract.Registry { return contract.Registry(r) })
			return &struct{ Body contract.Registries }{contract.Registries{Registries: all, Next: httpapi.Cursor(list.Next)}}, nil
		})
	huma.Register(api, op(identity.RoleAdmin, "remove-registry", "DELETE", "/registries/{host}",
		"Forget a registry; what runs from it goes on running", httpapi.NoContent),
		func(ctx context.Context, in *struct {
			Host string `path:"host" maxLength:"240"`
		}) (*struct{}, error) {
			return nil, d.Catalog.RemoveRegistry(ctx, catalog.RemoveRegistryRequest{Actor: actor(ctx), Host: in.Host})
		})
}
