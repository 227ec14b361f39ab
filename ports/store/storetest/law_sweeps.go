package storetest

import (
	"context"
	"fmt"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func sweepLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a sweep of nonces is bounded by time and number", sweepNonces),
		promise("a sweep of one-time secrets is bounded by time and number", sweepSecrets),
		promise("a sweep of answers is bounded by time and number", sweepAnswers),
		promise("sweeps at once forget everything once", sweepsRaced),
	}
}

type sweeper = func(ctx context.Context, r *store.Roles, before time.Time, limit int) (int, error)

// sweeps fails the law unless the sweep forgets so many.
func (k *kit) sweeps(sweep sweeper, before time.Time, limit, want int) {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		got, err := sweep(ctx, r, before, limit)
		if err == nil && got != want {
			err = fmt.Errorf("a sweep of at most %d forgot %d, want %d", limit, got, want)
		}
		return err
	})
}

// sweepsSeven sweeps seven that are due and three that are not, the first of those due exactly at the time given.
func (k *kit) sweepsSeven(add func(ctx context.Context, r *store.Roles, i int, at time.Time) error, sweep sweeper) {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range 10 {
			if err := add(ctx, r, i, noon.Add(time.Duration(i-7)*time.Microsecond)); err != nil {
				return err
			}
		}
		return nil
	})
	k.sweeps(sweep, noon.Add(-time.Hour), 99, 0)
	k.sweeps(sweep, noon, 3, 3)
	k.sweeps(sweep, noon, 0, 1)
	k.sweeps(sweep, noon, 99, 3)
	k.sweeps(sweep, noon, 99, 0)
}

func sweepNonces(k *kit) {
	at := func(i int, end time.Time) store.Ticket {
		return store.Ticket{Scope: "s", Nonce: fmt.Sprint(i), ExpiresAt: end}
	}
	k.sweepsSeven(func(ctx context.Context, r *store.Roles, i int, end time.Time) error {
		return r.Nonces.Spend(ctx, at(i, end))
	}, func(ctx context.Context, r *store.Roles, before time.Time, limit int) (int, error) {
		return r.Nonces.Sweep(ctx, before, limit)
	})
	for i := range 10 {
		err := k.spend(at(i, noon))
		if i < 7 {
			k.must(err)
		} else {
			k.refused("a nonce that is not due", err, fault.Unauthenticated, "assertion_replayed")
		}
	}
}

func sweepSecrets(k *kit) {
	k.sweepsSeven(func(ctx context.Context, r *store.Roles, i int, end time.Time) error {
		return r.Secrets.Create(ctx, identity.RestoreOneTimeSecret(identity.OneTimeSecretRecord{
			ID: fmt.Sprint(i), Hash: [32]byte{byte(i)}, ExpiresAt: end,
		}))
	}, func(ctx context.Context, r *store.Roles, before time.Time, limit int) (int, error) {
		return r.Secrets.Sweep(ctx, before, limit)
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		for i := 7; i < 10; i++ {
			if _, err := r.Secrets.Get(ctx, fmt.Sprintf("%02x%062d", i, 0)); err != nil {
				return err
			}
		}
		return nil
	})
}

func sweepAnswers(k *kit) {
	at := func(i int, end time.Time) store.Once {
		return store.Once{Scope: "s", Key: fmt.Sprint(i), CreatedAt: end}
	}
	k.sweepsSeven(func(ctx context.Context, r *store.Roles, i int, end time.Time) error {
		return second(r.Idempotency.Begin(ctx, at(i, end)))
	}, func(ctx context.Context, r *store.Roles, before time.Time, limit int) (int, error) {
		return r.Idempotency.Sweep(ctx, before, limit)
	})
	for i := 7; i < 10; i++ {
		k.there(at(i, noon))
	}
}

func sweepsRaced(k *kit) {
	const many = 60
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range many {
			if err := r.Nonces.Spend(ctx, ticket(fmt.Sprint(i))); err != nil {
				return err
			}
		}
		return nil
	})
	swept := make([]int, crowd)
	k.inTurns(func(worker, _ int) error {
		var n int
		err := k.do(func(ctx context.Context, r *store.Roles) (err error) {
			n, err = r.Nonces.Sweep(ctx, noon.Add(time.Second), 2)
			return err
		})
		swept[worker] += n
		return err
	})
	sum := 0
	for _, n := range swept {
		sum += n
	}
	if sum != many {
		k.Fatalf("the sweeps forgot %d of %d", sum, many)
	}
}
