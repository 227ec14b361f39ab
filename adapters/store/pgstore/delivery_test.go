package pgstore_test

import (
	"context"
	"testing"
	"time"

	"berth/adapters/store/pgstore"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// While another session holds every row that a poll reads, or keeps others from writing a table, agents poll on.
func TestHeldRowsStopNoAgent(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	migrated(t, dsn)
	s := bare(t, dsn, pgstore.Options{LockTimeout: 100 * time.Millisecond, StatementTimeout: time.Second, Callers: 1})
	agent, install := storetest.AgentName(0), storetest.InstallName(0)
	do(t, s, func(ctx context.Context, r *store.Roles) error { return storetest.Enroll(ctx, r, agent, install) })
	for _, lock := range []string{
		"SELECT 1 FROM agents, desired_states, deployments FOR UPDATE",
		"LOCK TABLE agents, desired_states, deployments, writers, beat_rounds IN EXCLUSIVE MODE",
	} {
		locked(t, dsn, lock, func() {
			for range 20 {
				if at, err := s.Poll(t.Context(), agent); err != nil || at.InstallID != install || at.Revision != 1 {
					t.Fatalf("%s: a poll gave %+v, %v", lock, at, err)
				}
			}
			away(t, "a write", s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
				return r.Deployments.Review(ctx, "license", noon)
			}), "store_busy")
		})
	}
}

// What a program of version 2 wrote is read after the upgrade to version 3, which gave the delivery half its tables, and
// that program works on beside it.
func TestUpgradeFromVersion2(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	earlier := bare(t, dsn, pgstore.Options{})
	pgstore.EarlierSteps(earlier, 2)
	if err := upgrade(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	if err := put(earlier, "before"); err != nil {
		t.Fatal(err)
	}
	s := open(t, dsn)
	do(t, s, func(ctx context.Context, r *store.Roles) error {
		return storetest.Enroll(ctx, r, storetest.AgentName(0), storetest.InstallName(0))
	})
	if err := earlier.Ping(t.Context()); err != nil {
		t.Fatal("the earlier program:", err)
	}
	if err := put(earlier, "beside"); err != nil {
		t.Fatal("the earlier program:", err)
	}
	has(t, s, "before beside")
	if _, err := s.Poll(t.Context(), storetest.AgentName(0)); err != nil {
		t.Error(err)
	}
}
