package access

import "berth/ports/store"

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

// all reads a whole ordered list, whose length is bounded elsewhere, in pages of the longest size.
func all[T any](read func(store.Page) ([]T, error), key func(T) string) ([]T, error) {
	var out []T
	page := store.Page{Limit: store.MaxPage}
	for {
		items, err := read(page)
		if err != nil {
			return nil, err
		}
		out = append(out, items...)
		if len(items) < store.MaxPage {
			return out, nil
		}
		page.After = key(items[len(items)-1])
	}
}
