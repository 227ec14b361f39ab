package berthd

import (
	"context"
	"log/slog"

	"github.com/google/wire"

	"berth/adapters/store/pgstore"
	"berth/cmd/internal/config"
	"berth/ports/clock"
	"berth/ports/store"
)

// PostgresSet is a store on a server that replicas share.
var PostgresSet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	providePostgres, wire.Bind(new(store.Store), new(*late)), wire.Bind(new(Schema), new(*late)),
)

func providePostgres(c config.Config, k clock.Clock, log *slog.Logger) (*late, func()) {
	l := newLate(openPostgres(c), k, log)
	return l, l.close
}

// aside are the connections that are neither for views nor for write transactions: of heartbeats, of the reads that
// callers share, and of hints.
const aside = 5

func openPostgres(c config.Config) opener {
	writers := (c.DatabaseConnections - aside) / 2
	o := pgstore.Options{
		Writers: writers, Readers: c.DatabaseConnections - aside - writers, StatementTimeout: c.DatabaseTimeout,
		Password: c.DatabasePassword(),
	}
	return func(ctx context.Context) (database, error) {
		s, err := pgstore.Open(ctx, c.DatabaseURL, o)
		if err != nil {
			return nil, err
		}
		return stepped{s}, nil
	}
}
