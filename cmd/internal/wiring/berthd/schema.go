package berthd

import (
	"context"
	"fmt"

	sqlstore "berth/adapters/store"
	"berth/cmd/internal/config"
	"berth/ports/store"
)

// migrator is what every SQL store is.
type migrator interface {
	store.Store
	Migrate(ctx context.Context) ([]sqlstore.Migration, error)
	Status(ctx context.Context) ([]sqlstore.Migration, error)
	Close() error
}

// stepped is a store with its schema as this package's commands see it.
type stepped struct{ migrator }

func (s stepped) Up(ctx context.Context) (taken []string, err error) {
	steps, err := s.Migrate(ctx)
	for _, m := range steps {
		taken = append(taken, nameOf(m))
	}
	return taken, err
}

func (s stepped) Status(ctx context.Context) ([]SchemaStep, error) {
	steps, err := s.migrator.Status(ctx)
	out := make([]SchemaStep, 0, len(steps))
	for _, m := range steps {
		out = append(out, SchemaStep{Name: nameOf(m), At: m.AppliedAt})
	}
	return out, err
}

func nameOf(m sqlstore.Migration) string { return fmt.Sprintf("%04d_%s", m.Version, m.Name) }

// OpenSchema opens the database that the configuration names, for its schema alone. A file that is not there is made, if
// that is wanted, and refused otherwise: NotFound schema_missing.
func OpenSchema(ctx context.Context, c config.Config, make bool) (Schema, func(), error) {
	open := openPostgres(c)
	if !c.OnPostgres() {
		if err := findFile(c, make); err != nil {
			return nil, nil, err
		}
		open = openSQLite(c)
	}
	db, err := open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return db, func() { _ = db.Close() }, nil
}
