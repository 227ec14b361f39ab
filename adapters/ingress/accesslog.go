package ingress

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// AccessLog says which requests the log tells of.
type AccessLog string

// The access logs.
const (
	LogAll     AccessLog = "all"
	LogRefused AccessLog = "refused" // what the ingress refused, or had no answer for
	LogOff     AccessLog = "off"
)

// tell counts a request that is over, and logs it. Nothing of a header, a body or a query is told: those may hold secrets.
func (x *exchange) tell() {
	took := time.Since(x.start)
	x.g.o.Metrics.answered(x.r.Method, x.status, took)
	if x.slug != "" {
		x.g.o.Metrics.refused(x.slug)
	}
	level := slog.LevelInfo
	switch {
	case x.status >= http.StatusInternalServerError && x.slug != "":
		level = slog.LevelWarn
	case x.g.o.AccessLog == LogOff, x.g.o.AccessLog == LogRefused && x.slug == "":
		return
	}
	if !x.g.o.Log.Enabled(context.Background(), level) {
		return
	}
	attrs := [...]slog.Attr{
		slog.String("request", x.id()), slog.String("node", x.link.peer.id.String()), slog.String("method", x.r.Method),
		slog.String("path", shownPath(x.r.RequestURI)), slog.Int("status", x.status), slog.Int64("bytes", x.bytes), slog.Duration("took", took),
		slog.String("slug", x.slug), slog.Any("error", x.failure),
	}
	shown := attrs[:7]
	if x.slug != "" {
		shown = attrs[:]
	}
	x.g.o.Log.LogAttrs(context.Background(), level, "request", shown...)
}

const longestPath = 256

// shownPath is the path of a target, as far as a log needs it. Another form than the origin form could hold a password.
func shownPath(target string) string {
	path, _, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "/") {
		return "-"
	}
	if len(path) > longestPath {
		path = path[:longestPath] + "…"
	}
	return path
}
