package catalog

import (
	"berth/ports/clock"
	"berth/ports/registry"
	"berth/ports/render"
	"berth/ports/store"
)

// Catalog is the use cases of this package over their ports. Its fields are set once, before use. All methods are safe for
// concurrent use, and any number of them may share one store.
type Catalog struct {
	Store     store.Store
	Clock     clock.Clock
	Renderers render.Renderers
	Charts    registry.Charts
}
