package pgstore_test

import (
	"context"
	"sync/atomic"
	"testing"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// failsOnce lets the first commit that writes to a table fail for the sake of another transaction, after a while.
func failsOnce(tb testing.TB, dsn, table, code, seconds string) {
	tb.Helper()
	change(tb, dsn, "CREATE SEQUENCE commits",
		`CREATE FUNCTION give_way() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('commits') = 1 THEN PERFORM pg_sleep(`+seconds+`); RAISE EXCEPTION 'no order' USING ERRCODE = '`+code+`'; END IF;
			RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER giving_way AFTER INSERT OR UPDATE ON `+table+` DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION give_way()`)
}

// A transaction that the database gives up at the commit, for the sake of another, is run again and then kept once.
func TestGivenUpAtTheCommit(t *testing.T) {
	t.Parallel()
	base := database(t)
	for _, code := range []string{"40001", "40P01"} {
		dsn := schema(t, base)
		s := open(t, dsn)
		failsOnce(t, dsn, "relay_regions", code, "0")
		runs := 0
		do(t, s, func(ctx context.Context, r *store.Roles) error {
			runs++
			return addRegion(ctx, r, "eu")
		})
		if runs != 2 {
			t.Fatalf("after %s it ran %d times", code, runs)
		}
		has(t, s, "eu")
	}
}

// A transaction that is given up in its middle is run again, whatever its function makes of that.
func TestGivenUpInTheMiddle(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	failsOnce(t, dsn, "relay_regions", "40001", "0")
	change(t, dsn, "ALTER TABLE relay_regions DISABLE TRIGGER giving_way",
		`CREATE TRIGGER at_once AFTER INSERT ON relay_regions FOR EACH ROW EXECUTE FUNCTION give_way()`)
	runs := 0
	do(t, s, func(ctx context.Context, r *store.Roles) error {
		runs++
		_ = addRegion(ctx, r, "eu")
		return nil
	})
	if runs != 2 {
		t.Fatalf("it ran %d times", runs)
	}
	has(t, s, "eu")
}

// A caller of Beat that leaves while a commit runs, which is then given up, is left out of the next: what it would have
// decided is neither asked again, once its Beat returned, nor kept. Those who stay are served.
func TestBeatLeftBeforeItsRoundIsRunAgain(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	s := open(t, dsn)
	do(t, s, func(ctx context.Context, r *store.Roles) error { return fleetIn(ctx, r, 2) })
	failsOnce(t, dsn, "relay_node_leases", "40001", "0.5")
	ctx, cancel := context.WithCancel(t.Context())
	var returned, late atomic.Bool
	var leaving atomic.Int64
	left := make(chan error, 1)
	stays := make(chan error, 1)
	go func() {
		_, err := s.Beat(ctx, nodeName(0), store.Ticket{}, func(n *placement.Node, l *placement.Lease) error {
			if leaving.Add(1); returned.Load() {
				late.Store(true)
			}
			return use(n, l)
		})
		returned.Store(true)
		left <- err
	}()
	for leaving.Load() == 0 { // until its round decides
		if err := s.View(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		_, err := s.Beat(t.Context(), nodeName(1), store.Ticket{}, use)
		stays <- err
	}()
	cancel()
	refused(t, "who left", <-left, fault.Unavailable, "commit_unknown")
	if err := <-stays; err != nil {
		t.Fatal(err)
	}
	if late.Load() || leaving.Load() != 1 {
		t.Errorf("who left was asked %d times, after it left: %t", leaving.Load(), late.Load())
	}
	want := map[string]int64{nodeName(0): 0, nodeName(1): 1}
	if err := s.View(t.Context(), func(ctx context.Context, r *store.Roles) error {
		for node, count := range want {
			l, err := r.Leases.Get(ctx, node)
			if err != nil {
				return err
			}
			if got := l.Record().Usage.Tenants; got != count {
				t.Errorf("%s counts %d, want %d", node, got, count)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
