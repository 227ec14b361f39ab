package berthd

import (
	"context"

	"github.com/google/wire"

	"berth/cmd/internal/config"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

var onSQLite = wire.NewSet(provideSQLite, provideSchema) //nolint:gochecknoglobals // a wire set, which nothing writes to

func provideSQLite() (store.Store, func(), error) { return storetest.NewMemory(), func() {}, nil }

type stub struct{}

func (stub) Up(context.Context) ([]string, error)         { return nil, nil }
func (stub) Status(context.Context) ([]SchemaStep, error) { return nil, nil }

func provideSchema() Schema { return stub{} }

// OpenSchema opens the database that the configuration names, for its schema alone.
func OpenSchema(config.Config) (Schema, func(), error) { return stub{}, func() {}, nil }
