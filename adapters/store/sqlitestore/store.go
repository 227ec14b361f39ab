package sqlitestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"berth/adapters/store"
	"berth/domain/fault"
	"berth/migrations"
	port "berth/ports/store"
)

// Migration is one step of the schema.
type Migration = store.Migration

// Options are what may be chosen. The zero Options are good.
type Options struct {
	Readers     int           // connections for views; 8 where it is 0
	BusyTimeout time.Duration // how long a call waits for another process's lock; 2.5 s where it is 0
}

func (o Options) orDefaults() Options {
	if o.Readers < 1 {
		o.Readers = 8
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 2500 * time.Millisecond
	}
	return o
}

// Store is a store.Store in a file.
type Store struct {
	*store.Beats
	*store.Callers
	*store.Pulses
	*store.Polls

	path    string
	options Options
	schema  []store.Migration

	mu     sync.RWMutex
	to     *connections // nil while the file is away
	closed bool

	leaving  sync.WaitGroup // connections to files that are gone, while some are still lent
	settling chan struct{}  // closed once connections that were let go are closed; nil for none
}

var _ port.Store = (*Store)(nil)

// Open opens the file, making it (0600) and its folder (0700) where they are not there. It makes no schema: Migrate
// does; and it changes nothing in another product's file, which every call then refuses. Fault: Unavailable
// store_unavailable when the file can not be had now.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	schema, err := store.Migrations(migrations.SQLite, "sqlite")
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, port.Away(err)
	}
	if err := touch(path); err != nil {
		return nil, port.Away(err)
	}
	s := &Store{path: path, options: o.orDefaults(), schema: schema}
	if s.to, err = connectTo(ctx, path, s.options, s.owned); err != nil {
		return nil, err
	}
	s.Beats, s.Callers = store.NewBeats(s.whole(writeTo)), store.NewCallers(s.whole(readFrom))
	s.Pulses, s.Polls = store.NewPulses(s.whole(readFrom)), store.NewPolls(s.whole(readFrom))
	return s, nil
}

// owned says whether a file is Berth's, or nobody's yet, whatever its schema.
func (s *Store) owned(ctx context.Context, c *connections) (bool, error) {
	err := s.judge(ctx, c)
	switch fault.SlugOf(err) {
	case "schema_foreign":
		return false, nil
	case "schema_outdated", "schema_newer", "schema_altered":
		return true, nil
	}
	return true, err
}

// ready says whether a file that came back can be worked with as it is.
func (s *Store) ready(ctx context.Context, c *connections) (bool, error) {
	return true, s.judge(ctx, c)
}

// Close serves what waits, then lets go of the file. Every later call answers Unavailable store_unavailable.
func (s *Store) Close() error {
	s.Beats.Close()
	s.Callers.Close()
	s.Pulses.Close()
	s.Polls.Close()
	s.mu.Lock()
	s.closed = true
	c := s.to
	s.to = nil
	s.mu.Unlock() // before it waits: what is lent may itself wait for another call
	defer s.leaving.Wait()
	if c == nil {
		return nil
	}
	return c.close()
}

// connections are those to the file that is at the path now. Where it is another than before, or there is none, what was
// opened is lent no more: a commit through it would go to a file that nobody finds.
func (s *Store) connections(ctx context.Context) (*connections, error) {
	s.mu.RLock()
	c, closed := s.to, s.closed
	s.mu.RUnlock()
	switch {
	case closed:
		return nil, store.Closed()
	case c != nil && !c.moved(s.path):
		return c, nil
	}
	return s.reconnect(ctx)
}

func (s *Store) reconnect(ctx context.Context) (*connections, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, store.Closed()
	case s.to != nil && !s.to.moved(s.path):
		return s.to, nil
	case s.to != nil:
		s.letGo()
	}
	if err := s.settled(ctx); err != nil {
		return nil, err
	}
	c, err := connectTo(ctx, s.path, s.options, s.ready)
	if err != nil {
		return nil, err
	}
	s.to = c
	return c, nil
}

// letGo closes the connections as those who use them are done. Of a file that is gone an error tells nothing. A file that
// is there, and lost its log only, gets from it what the log holds: until then nobody else may open it.
func (s *Store) letGo() {
	gone, done := s.to, make(chan struct{})
	s.to = nil
	if now, err := os.Stat(s.path); err == nil && os.SameFile(gone.file, now) {
		s.settling = done
	}
	s.leaving.Go(func() {
		defer close(done)
		_ = gone.close()
	})
}

// settled waits, as long as for any lock, for a file that takes its log over.
func (s *Store) settled(ctx context.Context) error {
	if s.settling == nil {
		return nil
	}
	patience := time.NewTimer(s.options.BusyTimeout)
	defer patience.Stop()
	select {
	case <-s.settling:
		s.settling = nil
		return nil
	case <-ctx.Done():
		return port.Ended(context.Cause(ctx))
	case <-patience.C:
		return port.Away(errSettling)
	}
}

var errSettling = errors.New("the database takes over a log that was removed")

// transact runs fn on connections, in one kind of transaction.
type transact = func(ctx context.Context, c *connections, fn func(context.Context, *store.Tx) error) error

// whole is run on the file that is there, on a schema that is known.
func (s *Store) whole(run transact) store.Run {
	return func(ctx context.Context, fn func(context.Context, *store.Tx) error) error {
		c, err := s.connections(ctx)
		if err != nil {
			return err
		}
		if err := s.known(ctx, c); err != nil {
			return err
		}
		return run(ctx, c, fn)
	}
}
