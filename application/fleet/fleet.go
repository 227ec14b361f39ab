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

// List is one page of an ordered list.
type List[T any] struct {
	Items []T
	Next  string // the cursor that asks for what follows; empty at the end
}

const (
	defaultList = 100
	longestList = 500 // items in one answer
)

// listed reads one page, and one item more to see whether the list goes on.
func listed[T any](p store.Page, read func(store.Page) ([]T, error), key func(T) string) (List[T], error) {
	size := min(p.Limit, longestList)
	if size < 1 {
		size = defaultList
	}
	items, err := read(store.Page{After: p.After, Limit: size + 1})
	if err != nil || len(items) <= size {
		return List[T]{Items: items}, err
	}
	return List[T]{Items: items[:size], Next: key(items[size-1])}, nil
}

// eachPage reads a whole ordered list in pages of the longest size and visits each. It ends with the first error.
func eachPage[T any](read func(store.Page) ([]T, error), key func(T) string, visit func([]T) error) error {
	page := store.Page{Limit: store.MaxPage}
	for {
		items, err := read(page)
		if err != nil || len(items) == 0 {
			return err
		}
		if err := visit(items); err != nil {
			return err
		}
		if len(items) < store.MaxPage {
			return nil
		}
		page.After = key(items[len(items)-1])
	}
}
