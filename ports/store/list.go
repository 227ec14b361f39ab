package store

// List is one page of an ordered list.
type List[T any] struct {
	Items []T
	Next  string // the key that asks for what follows; empty at the end
}

const (
	// DefaultList is how many items a page has whose length was not said.
	DefaultList = 100
	// LongestList is how many items a page has at most.
	LongestList = 500
)

// ListSize is a wished length within its bounds.
func ListSize(limit int) int {
	if limit < 1 {
		return DefaultList
	}
	return min(limit, LongestList)
}

// Listed reads one page, and one item more to see whether the list goes on.
func Listed[T any](p Page, read func(Page) ([]T, error), key func(T) string) (List[T], error) {
	size := ListSize(p.Limit)
	items, err := read(Page{After: p.After, Limit: size + 1})
	if err != nil || len(items) <= size {
		return List[T]{Items: items}, err
	}
	return List[T]{Items: items[:size], Next: key(items[size-1])}, nil
}

// EachPage reads a whole ordered list in pages of the longest size and visits each. It ends with the first error.
func EachPage[T any](read func(Page) ([]T, error), key func(T) string, visit func([]T) error) error {
	page := Page{Limit: MaxPage}
	for {
		items, err := read(page)
		if err != nil || len(items) == 0 {
			return err
		}
		if err := visit(items); err != nil {
			return err
		}
		if len(items) < MaxPage {
			return nil
		}
		page.After = key(items[len(items)-1])
	}
}

// All reads a whole ordered list, whose length is bounded elsewhere.
func All[T any](read func(Page) ([]T, error), key func(T) string) ([]T, error) {
	var out []T
	err := EachPage(read, key, func(page []T) error {
		out = append(out, page...)
		return nil
	})
	return out, err
}
