package server

import (
	"context"
	"log/slog"

	"berth/domain/fault"
	"berth/ports/store"
)

// CheckSchema refuses a database of another schema than this program's. One that does not answer now is left to come:
// requests are refused until it does.
func CheckSchema(ctx context.Context, s store.Store, log *slog.Logger) error {
	err := s.Ping(ctx)
	if fault.SlugOf(err) == "store_unavailable" {
		log.WarnContext(ctx, "the database does not answer; requests are refused until it does", "error", err)
		return nil
	}
	if f, ok := fault.As(err); ok && f.Slug == "schema_outdated" {
		return f.Curable("run berthd migrate up, or start with --migrate")
	}
	return err
}
