package store

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"berth/domain/fault"
	port "berth/ports/store"
)

// gather lets calls that wait at the same time share one round of the database. One goroutine serves the rounds, one
// after another; what arrives meanwhile makes the next.
type gather[Q, A any] struct {
	most int // calls in a round
	// serve may claim several times, each for one more attempt at the same round.
	serve func(claim func() *round[Q, A]) error
	// unsure says what a call is told whose context ends while it is being served.
	unsure func(error) error

	mu      sync.Mutex
	waiting []*call[Q, A]
	closed  bool
	wake    chan struct{}
	ended   chan struct{}
}

// round are calls that are served together. Whether it is settled is the mutex's: then no more of the callers' own code
// is run, and they may leave, unless another attempt begins.
type round[Q, A any] struct {
	mu      *sync.Mutex
	calls   []*call[Q, A]
	done    bool
	settled chan struct{} // closed when done
}

func (r *round[Q, A]) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done {
		r.done = true
		close(r.settled)
	}
}

// again begins another attempt, without those that left meanwhile: none of their code is run any more.
func (r *round[Q, A]) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		r.done, r.settled = false, make(chan struct{})
		r.calls = slices.DeleteFunc(r.calls, func(c *call[Q, A]) bool { return c.left })
	}
}

// call is one waiting caller. Before done is closed its answer belongs to the goroutine that serves.
type call[Q, A any] struct {
	asked  Q
	answer A
	err    error
	round  *round[Q, A] // nil while it waits; under the mutex
	left   bool         // under the mutex
	done   chan struct{}
}

var errClosed = errors.New("the store was closed")

// Closed is how a store answers after it was closed.
func Closed() error { return port.Away(errClosed) }

// newGather starts the goroutine. serve begins what is to be shared, claims the calls, and leaves to each its answer or
// its error; an error of its own is everybody's. What a round read must be later than its claim.
func newGather[Q, A any](
	most int, unsure func(error) error, serve func(claim func() *round[Q, A]) error,
) *gather[Q, A] {
	g := &gather[Q, A]{most: most, serve: serve, unsure: unsure, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go g.run()
	return g
}

// close ends the goroutine once all that wait are served.
func (g *gather[Q, A]) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.nudge()
	<-g.ended
}

func (g *gather[Q, A]) nudge() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// do waits for the round that serves asked.
func (g *gather[Q, A]) do(ctx context.Context, asked Q) (*call[Q, A], error) {
	c := &call[Q, A]{asked: asked, done: make(chan struct{})}
	if !g.enqueue(c) {
		return nil, Closed()
	}
	select {
	case <-c.done:
		return c, c.err
	case <-ctx.Done():
		return g.leave(ctx, c)
	}
}

func (g *gather[Q, A]) enqueue(c *call[Q, A]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.waiting = append(g.waiting, c)
	if len(g.waiting) == 1 {
		g.nudge()
	}
	return true
}

// leave gives a call up. One that was claimed is waited for as long as the caller's own code may still be run.
func (g *gather[Q, A]) leave(ctx context.Context, c *call[Q, A]) (*call[Q, A], error) {
	for {
		claimed, settled := g.giveUp(c)
		if !claimed {
			return nil, port.Ended(context.Cause(ctx))
		}
		select {
		case <-c.done:
			return c, c.err
		default:
		}
		if settled == nil {
			return nil, g.unsure(context.Cause(ctx))
		}
		select {
		case <-c.done:
		case <-settled:
		}
	}
}

// giveUp leaves a call that was not claimed, or whose round is settled; settled is else closed when it may be.
func (g *gather[Q, A]) giveUp(c *call[Q, A]) (claimed bool, settled <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case c.round == nil:
		g.waiting = slices.DeleteFunc(g.waiting, func(w *call[Q, A]) bool { return w == c })
		return false, nil
	case c.round.done:
		c.left = true
		return true, nil
	}
	return true, c.round.settled
}

func (g *gather[Q, A]) run() {
	ended := false
	defer func() {
		if ended {
			close(g.ended)
		} else {
			go g.run() // a caller's own code ended the goroutine
		}
	}()
	for {
		switch {
		case g.length() > 0:
			g.once()
		case g.over():
			ended = true
			return
		default:
			<-g.wake
		}
	}
}

func (g *gather[Q, A]) length() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

func (g *gather[Q, A]) over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed && len(g.waiting) == 0
}

// once serves one round and wakes its callers.
func (g *gather[Q, A]) once() {
	var r *round[Q, A]
	claim := func() *round[Q, A] {
		if r == nil {
			r = g.claim()
		} else {
			r.again()
		}
		return r
	}
	err := error(fault.New(fault.Internal, "store_round_ended", "another call ended the one that served it"))
	defer func() {
		if r == nil {
			r = g.claim()
		}
		for _, c := range r.calls {
			if err != nil {
				c.err = err
			}
			close(c.done)
		}
	}()
	err = g.serve(claim)
}

// claim takes the calls that wait, after those that are about to had their turn to run: callers that a round woke
// together come again together, and the first of them would else make a round of its own.
func (g *gather[Q, A]) claim() *round[Q, A] {
	for before, now := 0, g.length(); now > before && now < g.most; before, now = now, g.length() {
		runtime.Gosched()
	}
	r := &round[Q, A]{mu: &g.mu, settled: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), g.most)
	r.calls = slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	for _, c := range r.calls {
		c.round = r
	}
	return r
}
