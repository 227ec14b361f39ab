package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"berth/domain/fault"
	port "berth/ports/store"
)

// stage serves rounds of numbers, each answered by its double, and stops where a test wants to look.
type stage struct {
	began, claim, claimed, settle, finish chan struct{}
	sizes                                 []int
	err                                   error
}

func newStage() *stage {
	free := func() chan struct{} { return make(chan struct{}, 99) }
	return &stage{began: free(), claim: free(), claimed: free(), settle: free(), finish: free()}
}

func (s *stage) serve(claim func() *round[int, int]) error {
	s.began <- struct{}{}
	<-s.claim
	r := claim()
	s.sizes = append(s.sizes, len(r.calls))
	s.claimed <- struct{}{}
	<-s.settle
	for _, c := range r.calls {
		c.answer = 2 * c.asked
	}
	r.settle()
	<-s.finish
	return s.err
}

// open lets so many rounds run through.
func (s *stage) open(rounds int) {
	for range rounds {
		s.claim <- struct{}{}
		s.settle <- struct{}{}
		s.finish <- struct{}{}
	}
}

type answer struct {
	n   int
	err error
}

func ask(ctx context.Context, g *gather[int, int], n int) chan answer {
	out := make(chan answer, 1)
	go func() {
		c, err := g.do(ctx, n)
		if c == nil {
			out <- answer{0, err}
			return
		}
		out <- answer{c.answer, err}
	}()
	return out
}

func gathering(t *testing.T, s *stage, most int) *gather[int, int] {
	t.Helper()
	return newGather(most, func(err error) error { return port.Unknown(err) }, s.serve)
}

// waiting waits until so many calls wait.
func waiting(g *gather[int, int], n int) {
	for g.length() != n {
		ctx, cancel := context.WithTimeout(context.Background(), 1)
		<-ctx.Done()
		cancel()
	}
}

func wantFault(t *testing.T, err error, slug string) {
	t.Helper()
	if fault.SlugOf(err) != slug {
		t.Fatalf("want %s, got %v", slug, err)
	}
}

// Calls that wait together share rounds, none larger than it may be, and closing serves all that wait.
func TestGatherShares(t *testing.T) {
	t.Parallel()
	s := newStage()
	g := gathering(t, s, 4)
	var calls []chan answer
	for i := range 10 {
		calls = append(calls, ask(t.Context(), g, i))
	}
	waiting(g, 10)
	s.open(3)
	g.close()
	for i, c := range calls {
		if got := <-c; got.err != nil || got.n != 2*i {
			t.Fatalf("call %d was answered %+v", i, got)
		}
	}
	if len(s.sizes) != 3 || s.sizes[0] != 4 || s.sizes[1] != 4 || s.sizes[2] != 2 {
		t.Fatalf("the rounds had the sizes %v", s.sizes)
	}
	wantFault(t, (<-ask(t.Context(), g, 1)).err, "store_unavailable")
}

// What a round fails with is everybody's.
func TestGatherFails(t *testing.T) {
	t.Parallel()
	s := newStage()
	s.err = errors.New("boom")
	g := gathering(t, s, 4)
	a, b := ask(t.Context(), g, 1), ask(t.Context(), g, 2)
	waiting(g, 2)
	s.open(1)
	for _, c := range []chan answer{a, b} {
		if got := <-c; !errors.Is(got.err, s.err) {
			t.Fatalf("got %v", got.err)
		}
	}
	g.close()
}

// A call that ends before it was claimed is never served, and says so.
func TestGatherLeftWaiting(t *testing.T) {
	t.Parallel()
	s := newStage()
	g := gathering(t, s, 4)
	ctx, cancel := context.WithCancel(t.Context())
	stays, leaves := ask(t.Context(), g, 1), ask(ctx, g, 2)
	waiting(g, 2)
	cancel()
	wantFault(t, (<-leaves).err, "request_ended")
	s.open(1)
	if got := <-stays; got.err != nil || s.sizes[0] != 1 {
		t.Fatalf("the other was answered %+v in a round of %d", got, s.sizes[0])
	}
	g.close()
}

// A call that ends while it is served waits until its own code is run no more, and then can not say what became of it.
func TestGatherLeftServed(t *testing.T) {
	t.Parallel()
	s := newStage()
	g := gathering(t, s, 4)
	ctx, cancel := context.WithCancel(t.Context())
	leaves := ask(ctx, g, 2)
	s.claim <- struct{}{}
	<-s.claimed
	cancel()
	select {
	case got := <-leaves:
		t.Fatalf("it left before its round was settled: %+v", got)
	default:
	}
	s.settle <- struct{}{}
	wantFault(t, (<-leaves).err, "commit_unknown")
	s.finish <- struct{}{}
	g.close()
}

// A round that has to be served again leaves out who left after the attempt before was settled, and waits again for
// those who stayed. A call that is left is not touched any more.
func TestGatherServesAgainWithoutThoseWhoLeft(t *testing.T) {
	t.Parallel()
	step, served := make(chan struct{}), make(chan []int)
	g := newGather(4, func(err error) error { return port.Unknown(err) }, func(claim func() *round[int, int]) error {
		for range 3 {
			<-step
			r := claim()
			var asked []int
			for _, c := range r.calls {
				asked = append(asked, c.asked)
				c.answer++
			}
			served <- asked
			<-step
			r.settle()
			<-step
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	late, lateCancel := context.WithCancel(t.Context())
	leaves, stays, leavesLater := ask(ctx, g, 1), ask(t.Context(), g, 2), ask(late, g, 3)
	waiting(g, 3)
	step <- struct{}{}
	if got := <-served; len(got) != 3 {
		t.Fatalf("%v were served", got)
	}
	step <- struct{}{} // settled
	cancel()
	wantFault(t, (<-leaves).err, "commit_unknown")
	step <- struct{}{} // the attempt failed
	step <- struct{}{}
	if got := <-served; len(got) != 2 || slices.Contains(got, 1) {
		t.Fatalf("%v were served again", got)
	}
	lateCancel()
	select {
	case got := <-leavesLater:
		t.Fatalf("it left before its round was settled again: %+v", got)
	case step <- struct{}{}: // settled again
	}
	wantFault(t, (<-leavesLater).err, "commit_unknown")
	step <- struct{}{}
	step <- struct{}{}
	if got := <-served; !slices.Equal(got, []int{2}) {
		t.Fatalf("%v were served the third time", got)
	}
	step <- struct{}{}
	step <- struct{}{}
	if got := <-stays; got.err != nil || got.n != 3 {
		t.Fatalf("who stayed was answered %+v", got)
	}
	g.close()
}
