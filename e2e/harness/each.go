package harness

import (
	"sync"
	"testing"
)

// atOnce is how many things of many are done at a time.
const atOnce = 32

// Each does something for each of n, several at a time, and fails the test where one fails.
func Each(tb testing.TB, n int, do func(i int) error) {
	tb.Helper()
	room := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if err := do(i); err != nil {
				tb.Errorf("%d of %d: %v", i, n, err)
			}
		})
	}
	all.Wait()
	if tb.Failed() {
		tb.FailNow()
	}
}
