package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func nonceLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a ticket counts once", ticketOnce),
		promise("a ticket counts once among many at a time", ticketRaced),
		promise("a ticket of a transaction that failed counts again", ticketRolledBack),
		promise("the zero ticket is spent without effect", zeroTicket),
		promise("nonces are told apart by scope", scopesApart),
	}
}

func (k *kit) spend(t store.Ticket) error {
	return k.do(func(ctx context.Context, r *store.Roles) error { return r.Nonces.Spend(ctx, t) })
}

func ticketOnce(k *kit) {
	k.must(k.spend(ticket("a")))
	k.refused("again", k.spend(ticket("a")), fault.Unauthenticated, "assertion_replayed")
	later := ticket("a")
	later.ExpiresAt = later.ExpiresAt.AddDate(1, 0, 0)
	k.refused("with another end", k.spend(later), fault.Unauthenticated, "assertion_replayed")
	k.must(k.spend(ticket("b")))
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(
			r.Nonces.Spend(ctx, ticket("c")),
			expect(r.Nonces.Spend(ctx, ticket("c")), fault.Unauthenticated, "assertion_replayed"),
		)
	})
}

func ticketRaced(k *kit) {
	for round := range rounds {
		errs := together(crowd, func(worker int) error {
			return k.do(func(ctx context.Context, r *store.Roles) error {
				if err := r.Nonces.Spend(ctx, ticket(fmt.Sprint(round))); err != nil {
					return err
				}
				runtime.Gosched()
				return addRegion(ctx, r, fmt.Sprintf("%d-%d", round, worker))
			})
		})
		if got := k.count(errs, fault.Unauthenticated, "assertion_replayed"); got != 1 {
			k.Fatalf("a ticket counted %d times", got)
		}
	}
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		regions, err := r.Regions.List(ctx, store.Page{Limit: 99})
		if err == nil && len(regions) != rounds {
			err = fmt.Errorf("%d requests took effect, want %d", len(regions), rounds)
		}
		return err
	})
}

func ticketRolledBack(k *kit) {
	err := k.do(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.Nonces.Spend(ctx, ticket("a")), errUndo)
	})
	if !errors.Is(err, errUndo) {
		k.Fatalf("got %v", err)
	}
	k.must(k.spend(ticket("a")))
}

func zeroTicket(k *kit) {
	for range 2 {
		k.must(k.spend(store.Ticket{}))
	}
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		n, err := r.Nonces.Sweep(ctx, noon.AddDate(100, 0, 0), 9)
		if err == nil && n != 0 {
			err = errors.New("the zero ticket was stored")
		}
		return err
	})
}

func scopesApart(k *kit) {
	for _, t := range []store.Ticket{
		{Scope: "a", Nonce: "bc", ExpiresAt: noon}, {Scope: "ab", Nonce: "c", ExpiresAt: noon},
		{Scope: "A", Nonce: "bc", ExpiresAt: noon}, {Scope: "a", Nonce: "bC", ExpiresAt: noon},
		{Scope: "a'", Nonce: "bc", ExpiresAt: noon}, {Scope: "a", Nonce: "bc ", ExpiresAt: noon},
	} {
		k.must(k.spend(t))
	}
	for _, bad := range badTexts {
		k.refused("a scope", k.spend(store.Ticket{Scope: bad, Nonce: "n", ExpiresAt: noon}), fault.Invalid, "invalid_text")
		k.refused("a nonce", k.spend(store.Ticket{Scope: "s", Nonce: bad, ExpiresAt: noon}), fault.Invalid, "invalid_text")
	}
}
