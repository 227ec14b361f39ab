package berthd

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/google/wire"

	"berth/adapters/store/sqlitestore"
	"berth/cmd/internal/config"
	"berth/domain/fault"
	"berth/ports/clock"
	"berth/ports/store"
)

// SQLiteSet is a store in a file.
var SQLiteSet = wire.NewSet( //nolint:gochecknoglobals // a wire set, which nothing writes to
	provideSQLite, wire.Bind(new(store.Store), new(*late)), wire.Bind(new(Schema), new(*late)),
)

func provideSQLite(c config.Config, k clock.Clock, log *slog.Logger) (*late, func()) {
	l := newLate(openSQLite(c), k, log)
	return l, l.close
}

func sqlitePath(c config.Config) string {
	path, _ := strings.CutPrefix(c.DatabaseURL, "sqlite:")
	return path
}

func openSQLite(c config.Config) opener {
	return func(ctx context.Context) (database, error) {
		s, err := sqlitestore.Open(ctx, sqlitePath(c), sqlitestore.Options{})
		if err != nil {
			return nil, err
		}
		return stepped{s}, nil
	}
}

func findFile(c config.Config, make bool) error {
	path := sqlitePath(c)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !make {
		return fault.New(fault.NotFound, "schema_missing", "there is no database %s", path).
			Curable("run berthd migrate up, which makes it")
	}
	return nil
}
