package licensing

import (
	"sync/atomic"

	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/keywrap"
	"berth/ports/notify"
	"berth/ports/store"
)

// Licensing is the use cases of this package over their ports. Its exported fields are set once, before use. All methods
// are safe for concurrent use, and any number of Licensings may share one store.
type Licensing struct {
	Store   store.Store
	Clock   clock.Clock
	IDs     ids.Source
	Hints   notify.Publisher
	Wrapper keywrap.Wrapper

	pepper atomic.Pointer[pepper]
}
