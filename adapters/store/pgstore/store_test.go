package pgstore_test

import (
	"testing"

	"berth/ports/store"
	"berth/ports/store/storetest"
)

// The store keeps every law of its port.
func TestLaws(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	storetest.Run(t, func(tb testing.TB) store.Store { return open(tb, schema(tb, dsn)) })
}
