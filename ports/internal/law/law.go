// Package law runs the laws of a port: against an adapter, which must keep them all, and against mutants, adapters
// broken on purpose, of which each must be caught by the law that forbids its fault. A suite that lets a mutant pass
// proves nothing about the adapters that pass it.
package law

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// Law is one promise. Check fails its tb where the subject breaks it.
type Law[S any] struct {
	Name  string
	Check func(tb testing.TB, subject S)
}

// Run checks every law as a subtest, each on a subject of its own.
func Run[S any](t *testing.T, laws []Law[S], open func(tb testing.TB) S) {
	t.Helper()
	for _, l := range laws {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			l.Check(t, open(t))
		})
	}
}

// Caught fails tb unless the named law, which must be one of laws, fails on the mutant that open makes.
func Caught[S any](tb testing.TB, laws []Law[S], name string, open func(tb testing.TB) S) {
	tb.Helper()
	at := slices.IndexFunc(laws, func(l Law[S]) bool { return l.Name == name })
	if at < 0 {
		tb.Fatalf("there is no law %q", name)
	}
	if complaints := verdict(tb, func(tb testing.TB) { laws[at].Check(tb, open(tb)) }); len(complaints) == 0 {
		tb.Errorf("the law %q let the mutant pass", name)
	}
}

// verdict runs check and returns what it complained about.
func verdict(tb testing.TB, check func(tb testing.TB)) []string {
	tb.Helper()
	r := &recorder{TB: tb}
	done := make(chan struct{})
	go func() { // of its own, since FailNow ends the goroutine it is called on
		defer close(done)
		check(r)
	}()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.complaints
}

// recorder is a testing.TB that keeps failures to itself. Everything else is the true test's.
type recorder struct {
	testing.TB

	mu         sync.Mutex
	complaints []string
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.complaints) > 0
}

func (r *recorder) complain(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, text)
}

func (r *recorder) Log(...any)          {}
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Fail()               { r.complain("failed") }

func (r *recorder) FailNow() {
	r.Fail()
	runtime.Goexit()
}

func (r *recorder) Error(args ...any)                 { r.complain(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.complain(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// A skipped law proves nothing, so it counts as one that complained of nothing.
func (r *recorder) Skip(...any)          { runtime.Goexit() }
func (r *recorder) Skipf(string, ...any) { runtime.Goexit() }
func (r *recorder) SkipNow()             { runtime.Goexit() }
