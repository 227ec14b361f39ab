package pgstore

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"berth/adapters/store"
	"berth/migrations"
	port "berth/ports/store"
)

// Migration is one step of the schema.
type Migration = store.Migration

// Store is a store.Store in a Postgres database: in the first schema of the connection's search path.
type Store struct {
	*store.Beats
	*store.Callers
	*store.Pulses
	*store.Polls

	options Options
	schema  []store.Migration
	bun     *bun.DB
	watch   watch
	doubts  atomic.Int64  // how often Ping could not confirm the schema: each connection looks for itself then
	turns   chan struct{} // of one place: the write whose turn it is

	writers, readers, beats, callers *store.Pool[*session]
}

var _ port.Store = (*Store)(nil)

// Open reads the DSN, a postgres:// URL or keywords, which may name several hosts: the primary among them is found. It
// connects to none yet: Ping tells whether the database can be worked with, and Migrate makes its schema.
// Fault: Invalid database_url_malformed.
func Open(_ context.Context, dsn string, o Options) (*Store, error) {
	schema, err := store.Migrations(migrations.Postgres, "postgres")
	if err != nil {
		return nil, err
	}
	config, err := configure(dsn, o)
	if err != nil {
		return nil, err
	}
	s := &Store{options: o.orDefaults(), schema: schema, turns: make(chan struct{}, 1)}
	config.ValidateConnect = s.greet
	db := stdlib.OpenDB(*config, stdlib.OptionBeforeConnect(s.options.authenticate))
	db.SetMaxIdleConns(0) // each connection is held by a session of its own
	s.bun = bun.NewDB(db, store.Faithful(pgdialect.New()))
	s.writers, s.readers, s.beats = s.pool(s.options.Writers), s.pool(s.options.Readers), s.pool(1)
	s.callers = s.pool(s.options.Callers)
	s.Beats = store.NewBeats(s.write(s.beats, beginRound, beginRoundAlone))
	s.Callers, s.Pulses, s.Polls = store.NewCallers(s.single), store.NewPulses(s.single), store.NewPolls(s.single)
	return s, nil
}

func (s *Store) pool(size int) *store.Pool[*session] {
	return store.NewPool(size, s.options.LockTimeout, s.openSession)
}

// Close serves what waits, then closes every connection. Every later call answers Unavailable store_unavailable.
func (s *Store) Close() error {
	s.Beats.Close()
	s.Callers.Close()
	s.Pulses.Close()
	s.Polls.Close()
	return errors.Join(s.writers.Close(), s.readers.Close(), s.beats.Close(), s.callers.Close(), s.bun.Close())
}
