package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"berth/ports/store"
)

func numbered(n int) func(store.Page) ([]string, error) {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%05d", i))
	}
	return func(p store.Page) ([]string, error) {
		i, _ := slices.BinarySearch(all, p.After+"\x00")
		if p.After == "" {
			i = 0
		}
		return slices.Clone(all[i:min(len(all), i+p.Size())]), nil
	}
}

func itself(s string) string { return s }

// Pages of any length together are the list, each item once, and only the last has no next.
func TestListed(t *testing.T) {
	for _, n := range []int{0, 1, 99, 100, 101, 1000, 1001} {
		for _, limit := range []int{0, 1, 100, 500, 100000} {
			got, page := 0, store.Page{Limit: limit}
			for {
				l, err := store.Listed(page, numbered(n), itself)
				if err != nil || len(l.Items) > store.LongestList {
					t.Fatalf("%d by %d: %d items, %v", n, limit, len(l.Items), err)
				}
				got += len(l.Items)
				if page.After = l.Next; l.Next == "" {
					break
				}
			}
			if got != n {
				t.Fatalf("%d by %d came as %d", n, limit, got)
			}
		}
	}
}

// A whole list is read whole, whatever its length; what fails ends it.
func TestAll(t *testing.T) {
	for _, n := range []int{0, 1, store.MaxPage - 1, store.MaxPage, store.MaxPage + 1, 3 * store.MaxPage} {
		if got, err := store.All(numbered(n), itself); err != nil || len(got) != n {
			t.Fatalf("of %d came %d, %v", n, len(got), err)
		}
	}
	broken := errors.New("broken")
	if err := store.EachPage(numbered(5), itself, func([]string) error { return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if _, err := store.All(func(store.Page) ([]string, error) { return nil, broken }, itself); !errors.Is(err, broken) {
		t.Fatal(err)
	}
}
