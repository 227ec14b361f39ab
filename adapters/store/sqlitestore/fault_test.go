package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"berth/adapters/store/sqlitestore"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/store"
)

// impatient opens a store that waits for no other process.
func impatient(tb testing.TB, path string) *sqlitestore.Store {
	tb.Helper()
	s, err := sqlitestore.Open(tb.Context(), path, sqlitestore.Options{Readers: 1, BusyTimeout: time.Millisecond})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func addRegion(id string) func(context.Context, *store.Roles) error {
	return func(ctx context.Context, r *store.Roles) error {
		return r.Regions.Create(ctx, placement.Region{ID: id})
	}
}

func keep(*placement.Node, *placement.Lease) error { return nil }

// While another process writes, writes answer Unavailable with a time to try again, reads go on, and all is well after.
func TestAnotherWriter(t *testing.T) {
	t.Parallel()
	path := file(t)
	open(t, path)
	s := impatient(t, path)
	other := raw(t, path)
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := func(statement string) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	run("BEGIN IMMEDIATE")
	run("INSERT INTO relay_regions (id, origin) VALUES ('theirs', '')")
	_, beat := s.Beat(t.Context(), "n", store.Ticket{}, keep)
	for what, err := range map[string]error{"a write": s.Atomically(t.Context(), addRegion("eu")), "a beat": beat} {
		refused(t, what, err, fault.Unavailable, "store_unavailable")
		if e, _ := fault.As(err); e.RetryAfter != time.Second || e.Err == nil {
			t.Errorf("%s does not say when to try again, or why: %+v", what, e)
		}
	}
	if got := regions(t, s); got != "" {
		t.Fatalf("a view saw %s", got)
	}
	run("COMMIT")
	if err := s.Atomically(t.Context(), addRegion("eu")); err != nil {
		t.Fatal(err)
	}
	if got := regions(t, s); got != "eu theirs" {
		t.Fatalf("a view saw %s", got)
	}
	conn.Close()
}

func regions(tb testing.TB, s store.Store) string {
	tb.Helper()
	var ids []string
	if err := s.View(tb.Context(), func(ctx context.Context, r *store.Roles) error {
		found, err := r.Regions.List(ctx, store.Page{Limit: 99})
		for _, region := range found {
			ids = append(ids, region.ID)
		}
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(ids, " ")
}

// A caller whose time ends while another process holds the lock waits no longer, and changes nothing.
func TestWaitEndsWithContext(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	conn, err := raw(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, beat := s.Beat(ctx, "n", store.Ticket{}, keep)
	refused(t, "a beat", beat, fault.Unavailable, "request_ended")
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	refused(t, "a write", s.Atomically(ctx, addRegion("eu")), fault.Unavailable, "request_ended")
	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Atomically(t.Context(), addRegion("us")); err != nil {
		t.Fatal(err)
	}
	if got := regions(t, s); got != "us" {
		t.Fatalf("a view saw %s", got)
	}
}

// A database that is full refuses what does not fit and keeps what it has, even where the function makes light of the
// fault and goes on.
func TestFull(t *testing.T) {
	t.Parallel()
	s := open(t, file(t))
	sqlitestore.LimitPages(t, s, 0)
	large := strings.Repeat("x", 1<<20)
	for _, overlook := range []bool{false, true} {
		err := s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
			if err := addRegion("before")(ctx, r); err != nil {
				return err
			}
			if err := r.Regions.Create(ctx, placement.Region{ID: "large", Origin: large}); err != nil && !overlook {
				return err
			}
			after := addRegion("after")(ctx, r)
			refused(t, "a write after the fault", after, fault.Unavailable, "store_unavailable")
			return nil
		})
		refused(t, "a full database", err, fault.Unavailable, "store_unavailable")
	}
	if got := regions(t, s); got != "" {
		t.Fatalf("of a transaction that failed is left %s", got)
	}
	sqlitestore.LimitPages(t, s, 1<<20)
	if err := s.Atomically(t.Context(), addRegion("eu")); err != nil {
		t.Fatal(err)
	}
}

// A store that was closed serves what waited and refuses what comes later.
func TestClosed(t *testing.T) {
	t.Parallel()
	s := fleet(t, 1)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, beat := s.Beat(t.Context(), nodeName(0), store.Ticket{}, keep)
	_, _, caller := s.Caller(t.Context(), fingerprint(0))
	_, poll := s.Poll(t.Context(), "a")
	for what, err := range map[string]error{
		"a write": s.Atomically(t.Context(), addRegion("eu")), "a view": s.View(t.Context(), addRegion("eu")),
		"a beat": beat, "a caller": caller, "a poll": poll, "a ping": s.Ping(t.Context()),
	} {
		refused(t, what, err, fault.Unavailable, "store_unavailable")
	}
}

// What was answered is there after the store is opened anew.
func TestReopened(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	do(t, s, addRegion("eu"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := regions(t, bare(t, path)); got != "eu" {
		t.Fatalf("a view saw %s", got)
	}
}

// Beats of tickets that were spent, of refused deciders and of good ones share a commit, and each is answered for itself.
func TestMixedRound(t *testing.T) {
	t.Parallel()
	const many = 64
	s := fleet(t, many)
	spent := store.Ticket{Scope: "s", Nonce: "spent", ExpiresAt: noon}
	do(t, s, func(ctx context.Context, r *store.Roles) error { return r.Nonces.Spend(ctx, spent) })
	mine := fault.New(fault.Conflict, "mine", "the caller's own")
	errs := make(chan error, many)
	for i := range many {
		go func() {
			ticket, decide, want := store.Ticket{Scope: "s", Nonce: fmt.Sprint(i), ExpiresAt: noon}, keep, ""
			if i%3 == 0 {
				decide, want = func(*placement.Node, *placement.Lease) error { return mine }, "mine"
			}
			if i%4 == 0 {
				ticket, want = spent, "assertion_replayed"
			}
			_, err := s.Beat(t.Context(), nodeName(i), ticket, decide)
			if got := fault.SlugOf(err); err == nil && want != "" || err != nil && got != want {
				errs <- fmt.Errorf("beat %d: want %q, got %w", i, want, err)
				return
			}
			errs <- nil
		}()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// A decider that ends its goroutine ends no other's: the store goes on.
func TestDeciderThatExits(t *testing.T) {
	t.Parallel()
	s := fleet(t, 1)
	_, err := s.Beat(t.Context(), nodeName(0), store.Ticket{}, func(*placement.Node, *placement.Lease) error {
		runtime.Goexit()
		return nil
	})
	refused(t, "the beat", err, fault.Internal, "store_round_ended")
	if _, err := s.Beat(t.Context(), nodeName(0), store.Ticket{}, keep); err != nil {
		t.Fatal(err)
	}
}

// A request that ends in the very moment in which its transaction begins leaves none open: whoever comes next writes and reads.
func TestEndsWhileItBegins(t *testing.T) {
	t.Parallel()
	s := open(t, file(t))
	nothing := func(context.Context, *store.Roles) error { return nil }
	for i := range 4000 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range i % 200 {
				runtime.Gosched()
			}
			cancel()
		}()
		run := s.Atomically
		if i%2 == 1 {
			run = s.View
		}
		if err := run(ctx, nothing); err != nil && fault.SlugOf(err) != "request_ended" {
			t.Fatalf("round %d: %v", i, err)
		}
		<-ended
	}
	if err := errors.Join(s.Atomically(t.Context(), nothing), s.View(t.Context(), nothing)); err != nil {
		t.Fatal(err)
	}
}
