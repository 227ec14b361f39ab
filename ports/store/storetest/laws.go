package storetest

import (
	"slices"
	"testing"

	"berth/ports/internal/law"
	"berth/ports/store"
)

// Run holds the store that open makes, an empty one each time, to every law of the port. A store with a single writer
// passes: no law waits for a second transaction while it holds one.
func Run(t *testing.T, open func(tb testing.TB) store.Store) {
	t.Helper()
	law.Run(t, Laws(), open)
}

// Laws are the laws of the port, by name.
func Laws() []law.Law[store.Store] {
	return slices.Concat(
		recordLaws(), valueLaws(), missLaws(), listLaws(), filterLaws(), atomicLaws(), boundaryLaws(), isolationLaws(),
		beatLaws(), beatFaultLaws(), callerLaws(), nonceLaws(), revokeLaws(), changeLaws(), auditLaws(), standingLaws(),
		pulseLaws(), onceLaws(), sweepLaws(), originLaws(), putLaws(), catalogLaws(), deploymentLaws(), desiredLaws(),
		clusterLaws(), objectLaws(), raceLaws(), pollLaws(), stressLaws(),
	)
}

func promise(name string, check func(k *kit)) law.Law[store.Store] {
	return law.Law[store.Store]{Name: name, Check: func(tb testing.TB, s store.Store) {
		tb.Helper()
		check(newKit(tb, s))
	}}
}
