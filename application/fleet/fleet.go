package fleet

import (
	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/notify"
	"berth/ports/store"
)

// Hints is how use cases tell of a change, and wait for one.
type Hints interface {
	notify.Publisher
	notify.Subscriber
}

// Fleet is the use cases of this package over their ports. Its exported fields are set once, before use; the Settings
// have passed their Check. All methods are safe for concurrent use, and any number of Fleets may share one store.
type Fleet struct {
	Store    store.Store
	Clock    clock.Clock
	IDs      ids.Source
	Hints    Hints
	Settings Settings

	leases leaseCount
	drains drainPace
}
