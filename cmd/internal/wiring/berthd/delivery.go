package berthd

import (
	"github.com/google/wire"

	"berth/adapters/registry/ociregistry"
	"berth/adapters/render/yamlrender"
	"berth/application/catalog"
	"berth/domain/delivery"
	"berth/ports/clock"
	"berth/ports/registry"
	"berth/ports/render"
)

// DeliverySet is what delivers apps to customers' clusters.
var DeliverySet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	provideRegistries, wire.Bind(new(registry.Charts), new(*ociregistry.Client)),
	provideRenderers,
	wire.Struct(new(catalog.Catalog), "*"),
)

func provideRegistries(now clock.Clock, v Version) (*ociregistry.Client, func()) {
	client := ociregistry.New(ociregistry.Config{Clock: now, UserAgent: "berth/" + string(v)})
	return client, client.Close
}

func provideRenderers() render.Renderers {
	all := make(render.Renderers)
	all[delivery.SourceManifests] = yamlrender.Renderer{}
	return all
}
