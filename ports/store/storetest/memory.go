package storetest

import (
	"context"
	"sync/atomic"

	"berth/domain/placement"
	"berth/ports/store"
)

// Memory is a store.Store without a disk: a true one, which passes every law, with faults that tests can order. It
// keeps records, never aggregates, in trees that do not change, so that a transaction works on its own state and a
// commit is the exchange of one pointer.
type Memory struct {
	writer chan struct{} // holds one token, which is the one transaction's
	state  atomic.Pointer[state]
	faults atomic.Pointer[Faults]
}

var _ store.Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	m := &Memory{writer: make(chan struct{}, 1)}
	m.state.Store(&state{origin: "memory"})
	m.faults.Store(&Faults{})
	return m
}

// tx is one transaction or view, on a state of its own.
type tx struct {
	state
	readOnly bool
	over     bool
	owed     []func(*state) bool // references that are to hold at the commit
}

// reading is asked by every role that reads the given text as keys; writing by every role that writes.
func (t *tx) reading(keys ...string) error {
	if t.over {
		return store.Over()
	}
	return store.CheckText(keys...)
}

func (t *tx) writing(keys ...string) error {
	if t.readOnly && !t.over {
		return store.ReadOnly()
	}
	return t.reading(keys...)
}

func (t *tx) owe(holds func(*state) bool) { t.owed = append(t.owed, holds) }

func (t *tx) settled() error {
	for _, holds := range t.owed {
		if !holds(&t.state) {
			return store.Dangling()
		}
	}
	return nil
}

// Atomically runs fn while it holds the writer's token.
func (m *Memory) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	inner, err := store.Enter(ctx)
	if err != nil {
		return err
	}
	if err := m.faults.Load().begin(); err != nil {
		return err
	}
	select {
	case m.writer <- struct{}{}:
		defer func() { <-m.writer }()
	case <-ctx.Done():
		return store.Ended(ctx.Err())
	}
	t := &tx{state: *m.state.Load()}
	if m.faults.Load().Twice {
		if _, err := attempt(inner, &tx{state: t.state}, fn); err != nil {
			return err
		}
	}
	next, err := attempt(inner, t, fn)
	if err != nil {
		return err
	}
	return m.commit(ctx, next)
}

// attempt runs fn on t and returns what it made of it.
func attempt(ctx context.Context, t *tx, fn func(context.Context, *store.Roles) error) (*state, error) {
	defer func() { t.over = true }()
	if err := fn(ctx, t.roles()); err != nil {
		return nil, err
	}
	if err := t.settled(); err != nil {
		return nil, err
	}
	next := t.state
	return &next, nil
}

func (m *Memory) commit(ctx context.Context, next *state) error {
	faults := m.faults.Load()
	if err := ctx.Err(); err != nil {
		return store.Ended(err)
	}
	if err := faults.commit(); err != nil {
		return err
	}
	m.state.Store(next)
	return faults.answer()
}

// View runs fn on the state of the last commit.
func (m *Memory) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	ctx, err := store.Enter(ctx)
	if err != nil {
		return err
	}
	if err := m.faults.Load().begin(); err != nil {
		return err
	}
	t := &tx{state: *m.state.Load(), readOnly: true}
	_, err = attempt(ctx, t, fn)
	return err
}

// Ping answers unless a fault was ordered.
func (m *Memory) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return store.Ended(err)
	}
	return m.faults.Load().begin()
}

// Beat is a transaction like any other.
func (m *Memory) Beat(
	ctx context.Context, node string, t store.Ticket, decide func(*placement.Node, *placement.Lease) error,
) (placement.Candidate, error) {
	var out placement.Candidate
	err := m.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		n, err := r.Nodes.Get(ctx, node)
		if err != nil {
			return err
		}
		l, err := r.Leases.Get(ctx, node)
		if err != nil {
			return store.Missing("node").Because(err)
		}
		if err := r.Nonces.Spend(ctx, t); err != nil {
			return err
		}
		if err := decide(placement.RestoreNode(n.Record()), l); err != nil {
			return err
		}
		out = placement.Candidate{Node: n, Lease: placement.RestoreLease(l.Record())}
		return r.Leases.Save(ctx, l)
	})
	if err != nil {
		return placement.Candidate{}, err
	}
	return out, nil
}
