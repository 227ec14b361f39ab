//go:build wireinject

package berthd

import (
	"log/slog"

	"github.com/google/wire"

	"berth/cmd/internal/config"
)

// OnSQLite builds a control plane on SQLite. The function returned lets go of what it opened.
func OnSQLite(c config.Config, log *slog.Logger, v Version) (*Process, func(), error) {
	panic(wire.Build(GroundSet, SQLiteSet, LocalHintsSet, AloneSet, UseCaseSet, DeliverySet, HandlerSet, wire.Struct(new(Process), "*")))
}

// OnPostgres builds one of any number of replicas on a Postgres server. The function returned lets go of what it opened.
func OnPostgres(c config.Config, log *slog.Logger, v Version) (*Process, func(), error) {
	panic(wire.Build(GroundSet, PostgresSet, SharedHintsSet, ElectedSet, UseCaseSet, DeliverySet, HandlerSet, wire.Struct(new(Process), "*")))
}
