package storetest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/ports/store"
)

const (
	// patience is how long a law waits for a store that hangs, where nobody says when the tests have to be over.
	patience = time.Minute
	// telling is what is left of the tests' time for a law to say what hung.
	telling = 10 * time.Second
)

// patient is how long a law waits for a store that hangs before it fails: nearly as long as the tests may take, since a
// store may also be slow on a machine that has much else to do.
func patient(tb testing.TB) time.Duration {
	if timed, ok := tb.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, told := timed.Deadline(); told {
			return max(time.Until(end)-telling, telling)
		}
	}
	return patience
}

// kit is one law at work on one store.
type kit struct {
	testing.TB
	*maker
	store store.Store
	ctx   context.Context //nolint:containedctx // it lives as long as the law
}

func newKit(tb testing.TB, s store.Store) *kit {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient(tb))
	tb.Cleanup(cancel)
	return &kit{TB: tb, maker: newMaker(1), store: s, ctx: ctx}
}

type body = func(ctx context.Context, r *store.Roles) error

// do runs a transaction, see a view; must fails the law where they fail.
func (k *kit) do(fn body) error  { return k.store.Atomically(k.ctx, fn) }
func (k *kit) see(fn body) error { return k.store.View(k.ctx, fn) }

func (k *kit) mustDo(fn body) {
	k.Helper()
	k.must(k.do(fn))
}

func (k *kit) mustSee(fn body) {
	k.Helper()
	k.must(k.see(fn))
}

func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatalf("refused: %v", err)
	}
}

// refused fails the law unless err is the fault.
func (k *kit) refused(what string, err error, kind fault.Kind, slug string) {
	k.Helper()
	if err := expect(err, kind, slug); err != nil {
		k.Fatalf("%s: %v", what, err)
	}
}

// expect is refused for code that must not end its goroutine, and for transactions that go on.
func expect(err error, kind fault.Kind, slug string) error {
	if e, ok := fault.As(err); !ok || e.Kind != kind || e.Slug != slug {
		return errors.New("want " + kind.String() + " " + slug + ", got " + text(err))
	}
	return nil
}

func text(err error) string {
	if err == nil {
		return "no fault"
	}
	return err.Error()
}

// same fails the law unless both are equal in every field and got is as stores give it: times in UTC, to the
// microsecond. Empty and nil are the same.
func same[R any](k *kit, what string, got, want R) {
	k.Helper()
	if !alike(got, want) {
		k.Fatalf("%s\n got %+v\nwant %+v", what, got, own(want))
	}
}

func alike[R any](got, want R) bool {
	return reflect.DeepEqual(own(got), own(want)) && inUTC(reflect.ValueOf(&got))
}

// together runs n functions at once and returns their errors in order.
func together(n int, run func(i int) error) []error {
	errs := make([]error, n)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			errs[i] = run(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return errs
}

// mustAll runs n functions at once, none of which may fail.
func (k *kit) mustAll(n int, run func(i int) error) {
	k.Helper()
	k.must(errors.Join(together(n, run)...))
}

// count says how many of the errors are nil; every other must be the fault.
func (k *kit) count(errs []error, kind fault.Kind, slug string) (succeeded int) {
	k.Helper()
	for _, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		k.refused("a caller that lost", err, kind, slug)
	}
	return succeeded
}
