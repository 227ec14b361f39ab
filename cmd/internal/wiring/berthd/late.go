package berthd

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/clock"
	"berth/ports/store"
)

// database is a store that is open, and its schema.
type database interface {
	store.Store
	Schema
	Close() error
}

type opener = func(context.Context) (database, error)

// late is a database that may not be there when the process starts: until it was opened once, whoever asks is told that
// it is away, and it is tried again from time to time. Afterwards the store looks after itself.
type late struct {
	open  opener
	clock clock.Clock
	log   *slog.Logger

	now atomic.Pointer[opened]

	mu      sync.Mutex // held while it is opened
	closed  bool
	upgrade bool // the schema is to be brought up to date once it is open
	failed  error
	tried   time.Duration
}

type opened struct{ database }

// tryAgain is how long one failure answers for all.
const tryAgain = time.Second

func newLate(open opener, c clock.Clock, log *slog.Logger) *late {
	return &late{open: open, clock: c, log: log}
}

// get is the database, opened if it is not yet. Of many that ask at once one tries.
func (l *late) get(ctx context.Context) (database, error) {
	if now := l.now.Load(); now != nil {
		return now, nil
	}
	if !l.mu.TryLock() {
		return nil, store.Away(errors.New("the database is being opened"))
	}
	defer l.mu.Unlock()
	if now := l.now.Load(); now != nil {
		return now, nil
	}
	if l.closed {
		return nil, store.Away(errors.New("the database was closed"))
	}
	if l.failed != nil && l.clock.Elapsed()-l.tried < tryAgain {
		return nil, l.failed
	}
	// Whoever asked first may leave before it is open; all others want it too.
	db, err := l.try(context.WithoutCancel(ctx))
	l.failed, l.tried = err, l.clock.Elapsed()
	if err != nil {
		return nil, err
	}
	l.now.Store(&opened{db})
	return db, nil
}

func (l *late) try(ctx context.Context) (database, error) {
	db, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	if !l.upgrade {
		return db, nil
	}
	if _, err := l.up(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (l *late) up(ctx context.Context, db database) ([]string, error) {
	taken, err := db.Up(ctx)
	for _, step := range taken {
		l.log.InfoContext(ctx, "the schema went a step", "step", step)
	}
	return taken, err
}

// Up brings the schema up to date now, and where the database is away, once it is there.
func (l *late) Up(ctx context.Context) ([]string, error) {
	l.mu.Lock()
	l.upgrade = true
	l.mu.Unlock()
	db, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return l.up(ctx, db)
}

// Status returns every step of the schema.
func (l *late) Status(ctx context.Context) ([]SchemaStep, error) {
	db, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return db.Status(ctx)
}

// close lets go of the database, and opens it never again.
func (l *late) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if now := l.now.Load(); now != nil {
		if err := now.Close(); err != nil {
			l.log.Error("the database was not closed as it should be", "error", err)
		}
	}
}

// Atomically is store.Store's.
func (l *late) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	db, err := l.get(ctx)
	if err != nil {
		return err
	}
	return db.Atomically(ctx, fn)
}

// View is store.Store's.
func (l *late) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	db, err := l.get(ctx)
	if err != nil {
		return err
	}
	return db.View(ctx, fn)
}

// Beat is store.Beats'.
func (l *late) Beat(ctx context.Context, node string, t store.Ticket, decide func(*placement.Node, *placement.Lease) error,
) (placement.Candidate, error) {
	db, err := l.get(ctx)
	if err != nil {
		return placement.Candidate{}, err
	}
	return db.Beat(ctx, node, t, decide)
}

// Caller is store.Callers'.
func (l *late) Caller(ctx context.Context, fingerprint string) (*identity.Credential, placement.NodeStatus, error) {
	db, err := l.get(ctx)
	if err != nil {
		return nil, placement.NodeRetired, err
	}
	return db.Caller(ctx, fingerprint)
}

// Pulse is store.Pulses'.
func (l *late) Pulse(ctx context.Context, node string) (store.Pulse, error) {
	db, err := l.get(ctx)
	if err != nil {
		return store.Pulse{}, err
	}
	return db.Pulse(ctx, node)
}

// Poll is store.Polls'.
func (l *late) Poll(ctx context.Context, agent string) (store.Polled, error) {
	db, err := l.get(ctx)
	if err != nil {
		return store.Polled{}, err
	}
	return db.Poll(ctx, agent)
}

// Ping is store.Store's.
func (l *late) Ping(ctx context.Context) error {
	db, err := l.get(ctx)
	if err != nil {
		return err
	}
	return db.Ping(ctx)
}
