package sqlitestore_test

import (
	"context"
	"errors"
	"testing"

	"berth/adapters/store/sqlitestore"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// What a program of version 2 wrote is read after the upgrade to version 3, which gave the delivery half its tables, and
// that program works on beside it.
func TestUpgradeFromVersion2(t *testing.T) {
	t.Parallel()
	path := file(t)
	earlier := bare(t, path)
	sqlitestore.EarlierSteps(earlier, 2)
	if err := upgrade(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	do(t, earlier, addRegion("before"))
	s := open(t, path)
	do(t, s, func(ctx context.Context, r *store.Roles) error {
		return storetest.Enroll(ctx, r, storetest.AgentName(0), storetest.InstallName(0))
	})
	if err := earlier.Ping(t.Context()); err != nil {
		t.Fatal("the earlier program:", err)
	}
	do(t, earlier, addRegion("beside"))
	do(t, s, func(ctx context.Context, r *store.Roles) error {
		_, before := r.Regions.Get(ctx, "before")
		_, beside := r.Regions.Get(ctx, "beside")
		return errors.Join(before, beside)
	})
	if _, err := s.Poll(t.Context(), storetest.AgentName(0)); err != nil {
		t.Error(err)
	}
}
