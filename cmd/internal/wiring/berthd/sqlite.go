package berthd

import (
	"context"
	"errors"
	"fmt"
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

func sqlitePath(c config.Config) string {
	path, _ := strings.CutPrefix(c.DatabaseURL, "sqlite:")
	return path
}

func provideSQLite(c config.Config, k clock.Clock, log *slog.Logger) (*late, func()) {
	path := sqlitePath(c)
	l := newLate(func(ctx context.Context) (database, error) {
		s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
		if err != nil {
			return nil, err
		}
		return sqlite{s}, nil
	}, k, log)
	return l, l.close
}

// sqlite is a store with its schema as this package's commands see it.
type sqlite struct{ *sqlitestore.Store }

func (s sqlite) Up(ctx context.Context) ([]string, error) {
	before, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	failed := s.Migrate(ctx)
	after, err := s.Status(ctx)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	var taken []string
	for i, step := range after {
		if !step.At.IsZero() && (i >= len(before) || before[i].At.IsZero()) {
			taken = append(taken, step.Name)
		}
	}
	return taken, failed
}

func (s sqlite) Status(ctx context.Context) ([]SchemaStep, error) {
	steps, err := s.Store.Status(ctx)
	out := make([]SchemaStep, 0, len(steps))
	for _, m := range steps {
		out = append(out, SchemaStep{Name: fmt.Sprintf("%04d_%s", m.Version, m.Name), At: m.AppliedAt})
	}
	return out, err
}

// OpenSchema opens the database that the configuration names, for its schema alone. Where there is none it is made, if
// that is wanted, and refused otherwise: NotFound schema_missing.
func OpenSchema(ctx context.Context, c config.Config, make bool) (Schema, func(), error) {
	path := sqlitePath(c)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !make {
		return nil, nil, fault.New(fault.NotFound, "schema_missing", "there is no database %s", path).
			Curable("run berthd migrate up, which makes it")
	}
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return nil, nil, err
	}
	return sqlite{s}, func() { _ = s.Close() }, nil
}
