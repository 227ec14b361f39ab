package store

import (
	"context"
	"errors"
	"sync"
	"time"

	port "berth/ports/store"
)

// Connection is what a Pool lends.
type Connection interface {
	comparable
	// Failed says whether it is not to be used again.
	Failed() bool
	Close() error
}

// Pool lends connections, each to one goroutine at a time, and opens them when they are first needed.
type Pool[C Connection] struct {
	open     func(context.Context) (C, error)
	patience time.Duration // how long to wait for a connection; without bound where it is 0
	free     chan C        // the zero C where none was opened yet
	closed   chan struct{}
	once     sync.Once
	err      error
}

// NewPool is a pool of up to size connections.
func NewPool[C Connection](size int, patience time.Duration, open func(context.Context) (C, error)) *Pool[C] {
	p := &Pool[C]{open: open, patience: patience, free: make(chan C, size), closed: make(chan struct{})}
	var none C
	for range size {
		p.free <- none
	}
	return p
}

// Take waits for a connection. Faults: those of opening one; Unavailable request_ended, store_unavailable.
func (p *Pool[C]) Take(ctx context.Context) (C, error) {
	var none C
	select {
	case <-p.closed:
		return none, Closed()
	default:
	}
	select {
	case c := <-p.free:
		return p.opened(ctx, c)
	default:
	}
	late, stop := p.late()
	defer stop()
	select {
	case c := <-p.free:
		return p.opened(ctx, c)
	case <-ctx.Done():
		return none, port.Ended(context.Cause(ctx))
	case <-late:
		return none, port.Away(errCrowded)
	case <-p.closed:
		return none, Closed()
	}
}

var errCrowded = errors.New("no connection became free")

func (p *Pool[C]) late() (<-chan time.Time, func()) {
	if p.patience <= 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(p.patience)
	return timer.C, func() { timer.Stop() }
}

// opened opens what is not open yet, or failed. Who leaves meanwhile does not end that: the next has need of it.
func (p *Pool[C]) opened(ctx context.Context, c C) (C, error) {
	var none C
	if c != none && !c.Failed() {
		return c, nil
	}
	type outcome struct {
		c   C
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		if c != none {
			_ = c.Close() // it failed before
		}
		c, err := p.open(context.WithoutCancel(ctx))
		done <- outcome{c, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			p.free <- none
		}
		return o.c, o.err
	case <-ctx.Done():
		go func() { p.free <- (<-done).c }()
		return none, port.Ended(context.Cause(ctx))
	}
}

// Give takes a connection back.
func (p *Pool[C]) Give(c C) {
	if c.Failed() {
		_ = c.Close() // it failed before
		var none C
		c = none
	}
	p.free <- c
}

// Close waits for what is lent, then closes all.
func (p *Pool[C]) Close() error {
	p.once.Do(func() {
		close(p.closed)
		errs := make([]error, 0, cap(p.free))
		var none C
		for range cap(p.free) {
			if c := <-p.free; c != none {
				errs = append(errs, c.Close())
			}
		}
		p.err = errors.Join(errs...)
	})
	return p.err
}
