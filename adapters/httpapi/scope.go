package httpapi

import (
	"context"
	"log/slog"

	"github.com/danielgtaylor/huma/v2"
)

// Observer counts what a person who operates Berth wants to see. It never blocks.
type Observer interface {
	// Answered counts one answer: the operation's id, its status, and the slug when it was refused.
	Answered(audience, operation string, status int, slug string, seconds float64)
}

// scope is what one request carries beside its context's deadline.
type scope struct {
	requestID string
	audience  string
	operation string
	slug      string // of the refusal
	log       *slog.Logger
}

type scopeKey struct{}

func scopeOf(ctx context.Context) *scope {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s
	}
	return &scope{log: slog.Default()}
}

// Named says which operation a request is that is served without Huma.
func Named(ctx context.Context, operation string) { scopeOf(ctx).operation = operation }

// Log is the request's logger.
func Log(ctx context.Context) *slog.Logger { return scopeOf(ctx).log }

// With returns a Huma context whose request context is ctx.
func With(ctx context.Context, hc huma.Context) huma.Context { return huma.WithContext(hc, ctx) }

func withScope(ctx context.Context, s *scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}
