package storetest

import (
	"context"
	"errors"
	"fmt"

	"berth/ports/internal/law"
	"berth/ports/store"
)

func originLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("the origin of what is read has a name", originNamed),
		promise("views and transactions of one store read one history", originShared),
		promise("a commit leaves the origin as it is", originStable),
	}
}

// origin reads the origin as run tells it.
func (k *kit) origin(run func(body) error) (origin string) {
	k.Helper()
	k.must(run(func(_ context.Context, r *store.Roles) error {
		origin = r.Origin
		return nil
	}))
	return origin
}

func originNamed(k *kit) {
	for name, run := range map[string]func(body) error{"a transaction": k.do, "a view": k.see} {
		if k.origin(run) == "" {
			k.Fatalf("the origin in %s is empty", name)
		}
	}
}

// originShared has so many readers at once that each connection of a pool is among them.
func originShared(k *kit) {
	want := k.origin(k.do)
	k.mustAll(crowd, func(i int) error {
		run := k.see
		if i%4 == 0 {
			run = k.do
		}
		return run(func(_ context.Context, r *store.Roles) error {
			if r.Origin != want {
				return fmt.Errorf("the origin is %q here and %q there", r.Origin, want)
			}
			return nil
		})
	})
}

func originStable(k *kit) {
	before := k.origin(k.see)
	k.mustDo(everywhere)
	boom := errors.New("boom")
	if err := k.do(func(context.Context, *store.Roles) error { return boom }); !errors.Is(err, boom) {
		k.Fatalf("got %v", err)
	}
	for name, run := range map[string]func(body) error{"a transaction": k.do, "a view": k.see} {
		if after := k.origin(run); after != before {
			k.Fatalf("after a commit %s has the origin %q, before it was %q", name, after, before)
		}
	}
}
