package pgstore_test

import (
	"context"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

func refused(tb testing.TB, what string, err error, kind fault.Kind, slug string) {
	tb.Helper()
	if e, ok := fault.As(err); !ok || e.Kind != kind || e.Slug != slug {
		tb.Fatalf("%s: want %s %s, got %v", what, kind, slug, err)
	}
}

// away wants a fault that says when to try again.
func away(tb testing.TB, what string, err error, slug string) {
	tb.Helper()
	refused(tb, what, err, fault.Unavailable, slug)
	if e, _ := fault.As(err); e.RetryAfter <= 0 {
		tb.Errorf("%s does not say when to try again: %v", what, err)
	}
}

func do(tb testing.TB, s store.Store, fn func(context.Context, *store.Roles) error) {
	tb.Helper()
	if err := s.Atomically(tb.Context(), fn); err != nil {
		tb.Fatal(err)
	}
}

func put(s store.Store, id string) error {
	return s.Atomically(context.Background(), func(ctx context.Context, r *store.Roles) error {
		return r.Regions.Create(ctx, placement.Region{ID: id})
	})
}

// regions are the ids of all regions.
func regions(tb testing.TB, s store.Store) string {
	tb.Helper()
	var ids []string
	if err := s.View(tb.Context(), func(ctx context.Context, r *store.Roles) error {
		found, err := r.Regions.List(ctx, store.Page{Limit: 99})
		ids = nil
		for _, region := range found {
			ids = append(ids, region.ID)
		}
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(ids, " ")
}

// has fails unless the regions are these.
func has(tb testing.TB, s store.Store, want string) {
	tb.Helper()
	if got := regions(tb, s); got != want {
		tb.Fatalf("there are the regions %q, want %q", got, want)
	}
}

func beat(s store.Store, node string) error {
	_, err := s.Beat(context.Background(), node, store.Ticket{}, keep)
	return err
}

func keep(*placement.Node, *placement.Lease) error { return nil }

func caller(s store.Store) error {
	_, _, err := s.Caller(context.Background(), "nobody")
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

func poll(s store.Store) error {
	_, err := s.Poll(context.Background(), "nobody")
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

func nothing(context.Context, *store.Roles) error { return nil }

func addRegion(ctx context.Context, r *store.Roles, id string) error {
	return r.Regions.Create(ctx, placement.Region{ID: id})
}
