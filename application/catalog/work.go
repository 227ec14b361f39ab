package catalog

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/ports/store"
)

// work is one attempt at a transaction: its roles, who asks, and when.
type work struct {
	*store.Roles
	actor audit.Actor
	now   time.Time
}

// commit runs one change in a transaction.
func (c *Catalog) commit(ctx context.Context, actor audit.Actor, do func(context.Context, *work) error) error {
	now := c.Clock.Now()
	return c.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		return do(ctx, &work{Roles: r, actor: actor, now: now})
	})
}

func (w *work) note(ctx context.Context, action, subject string, detail map[string]string) error {
	return w.Audit.Append(ctx, audit.Draft{At: w.now, Actor: w.actor, Action: action, Subject: subject, Detail: detail})
}

// registries are all of them: their number is bounded.
func registries(ctx context.Context, r *store.Roles) ([]delivery.Registry, error) {
	return store.All(func(p store.Page) ([]delivery.Registry, error) { return r.Registries.List(ctx, p) }, hostOf)
}

func hostOf(r delivery.Registry) string { return r.Host }
