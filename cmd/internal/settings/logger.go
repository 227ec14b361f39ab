package settings

import (
	"io"
	"log/slog"
)

// Logger writes lines of at least a level, debug, info, warn or error, as text or json: what Log wants.
func Logger(w io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	_ = least.UnmarshalText([]byte(level)) // the settings were judged
	options := &slog.HandlerOptions{Level: least}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
