package storetest

import (
	"context"
	"errors"
	"fmt"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func onceLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("an answer comes back with every field", onceWhole),
		promise("a claim is the first caller's", onceClaimed),
		promise("of claims at once one wins", onceRaced),
		promise("a released claim can be made again, an answer stays", onceReleased),
		promise("answers are told apart by scope and key", oncesApart),
	}
}

// begin claims, and returns what was there where something was.
func (k *kit) begin(o store.Once) (found *store.Once, err error) {
	err = k.do(func(ctx context.Context, r *store.Roles) error {
		found, err = r.Idempotency.Begin(ctx, o)
		if err == nil && found != nil {
			return errors.New("a claim that succeeded found something")
		}
		return err
	})
	return found, err
}

func (k *kit) there(o store.Once) store.Once {
	k.Helper()
	found, err := k.begin(o)
	k.refused("a second claim", err, fault.AlreadyExists, "once_exists")
	if found == nil {
		k.Fatalf("a second claim was not told what is there")
	}
	return *found
}

func claimOf(o store.Once) store.Once {
	return store.Once{Scope: o.Scope, Key: o.Key, Digest: o.Digest, CreatedAt: o.CreatedAt}
}

func onceWhole(k *kit) {
	want := full[store.Once](k.maker)
	k.must(second(k.begin(want)))
	same(k, "the claim", k.there(want), claimOf(want))
	finish := want
	finish.Digest, finish.CreatedAt, finish.Done = "another", want.CreatedAt.AddDate(1, 0, 0), false
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Idempotency.Finish(ctx, finish) })
	scribble(finish)
	want = full[store.Once](newMaker(1))
	same(k, "the answer", k.there(want), want)
	got := k.there(want)
	scribble(got)
	same(k, "the answer", k.there(want), want)

	empty := store.Once{Scope: "s", Key: "empty", CreatedAt: noon, Status: 204}
	k.must(second(k.begin(empty)))
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Idempotency.Finish(ctx, empty) })
	empty.Done = true
	same(k, "an empty answer", k.there(empty), empty)
}

func onceClaimed(k *kit) {
	first := store.Once{Scope: "s", Key: "k", Digest: "first", CreatedAt: noon}
	k.must(second(k.begin(first)))
	again := store.Once{Scope: "s", Key: "k", Digest: "second", CreatedAt: noon.AddDate(0, 0, 1)}
	same(k, "what is there", k.there(again), first)
	for _, bad := range badTexts {
		for _, o := range []store.Once{
			{Scope: bad, Key: "k"}, {Scope: "s", Key: bad}, {Scope: "s", Key: "x", Digest: bad},
		} {
			k.refused("a claim", second(k.begin(o)), fault.Invalid, "invalid_text")
		}
		err := k.do(func(ctx context.Context, r *store.Roles) error {
			return r.Idempotency.Finish(ctx, store.Once{Scope: "s", Key: "k", Header: map[string]string{"h": bad}})
		})
		k.refused("an answer", err, fault.Invalid, "invalid_text")
	}
}

func onceRaced(k *kit) {
	for round := range rounds {
		digests := make([]string, crowd)
		errs := together(crowd, func(i int) error {
			o := store.Once{Scope: "s", Key: fmt.Sprint(round), Digest: fmt.Sprint(i), CreatedAt: noon}
			found, err := k.begin(o)
			if digests[i] = o.Digest; found != nil {
				digests[i] = found.Digest
			}
			return err
		})
		if got := k.count(errs, fault.AlreadyExists, "once_exists"); got != 1 {
			k.Fatalf("%d claims won", got)
		}
		for i := range digests {
			if digests[i] != digests[0] {
				k.Fatalf("the callers were told of different winners: %q", digests)
			}
		}
	}
}

func onceReleased(k *kit) {
	o := store.Once{Scope: "s", Key: "k", CreatedAt: noon}
	release := func(ctx context.Context, r *store.Roles) error { return r.Idempotency.Release(ctx, "s", "k") }
	k.mustDo(release)
	k.must(second(k.begin(o)))
	k.mustDo(release)
	k.must(second(k.begin(o)))
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Idempotency.Finish(ctx, o) })
	k.mustDo(release)
	if !k.there(o).Done {
		k.Fatalf("an answer was released")
	}
}

func oncesApart(k *kit) {
	for _, o := range []store.Once{
		{Scope: "a", Key: "bc"}, {Scope: "ab", Key: "c"}, {Scope: "A", Key: "bc"}, {Scope: "a", Key: "BC"}, {Scope: "a ", Key: "bc"},
	} {
		k.must(second(k.begin(o)))
	}
}
