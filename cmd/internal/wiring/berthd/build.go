package berthd

import (
	"log/slog"

	"berth/cmd/internal/config"
)

// Build builds a control plane on the database that the configuration names. The function returned lets go of what it
// opened.
func Build(c config.Config, log *slog.Logger, v Version) (*Process, func(), error) {
	if c.OnPostgres() {
		return OnPostgres(c, log, v)
	}
	return OnSQLite(c, log, v)
}
