package catalog

import (
	"context"

	"berth/domain/audit"
	"berth/domain/delivery"
)

// CreateAppRequest names an app.
type CreateAppRequest struct {
	Actor audit.Actor
	ID    string
	Name  string // for people
}

// CreateApp adds an app to the catalogue. Faults: Invalid invalid_id, text_out_of_bounds; AlreadyExists app_exists.
func (c *Catalog) CreateApp(ctx context.Context, in CreateAppRequest) (delivery.App, error) {
	var app delivery.App
	err := c.commit(ctx, in.Actor, func(ctx context.Context, w *work) (err error) {
		if app, err = delivery.NewApp(in.ID, in.Name, w.now); err != nil {
			return err
		}
		if err := w.Apps.Create(ctx, app); err != nil {
			return err
		}
		return w.note(ctx, "app.created", "app/"+app.ID, map[string]string{"name": app.Name})
	})
	return app, err
}
