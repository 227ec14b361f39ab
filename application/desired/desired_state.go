package desired

import (
	"context"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// DesiredState returns a revision of a deployment; the present one where it is 0. Faults: NotFound deployment_not_found,
// revision_not_found.
func (d *Desired) DesiredState(ctx context.Context, install string, revision int64) (delivery.Revision, delivery.DesiredRecord, error) {
	var out delivery.Revision
	var head delivery.DesiredRecord
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		present, err := r.DesiredStates.Get(ctx, install)
		if err != nil {
			return noDeployment(err)
		}
		head = present.Record()
		if revision == 0 {
			revision = head.Revision
		}
		out, err = r.Revisions.Get(ctx, install, revision)
		return err
	})
	return out, head, err
}

// MaxRendered is how many bytes of rendered objects one answer holds.
const MaxRendered = 4 << 20

// Rendered returns the objects of apps in a revision, by app; tombstones have none. Faults: Invalid objects_too_large
// where they are more than MaxRendered together; NotFound object_not_found where they are none of them.
func (d *Desired) Rendered(ctx context.Context, install string, apps []delivery.DesiredApp) (map[string][]delivery.Document, error) {
	var size int64
	for _, app := range apps {
		size += app.Manifests.Size
	}
	if size > MaxRendered {
		return nil, fault.New(fault.Invalid, "objects_too_large", "the objects have %d bytes, and an answer at most %d", size, MaxRendered).
			At("objects").Curable("ask for those of one app, by ?app=")
	}
	out := map[string][]delivery.Document{}
	err := d.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		for _, app := range apps {
			if app.Removed {
				continue
			}
			content, err := r.Objects.Read(ctx, install, app.Manifests.SHA256)
			if err != nil {
				return err
			}
			if out[app.App], err = delivery.Decode(content); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// History lists the revisions of a deployment below the given one, newest first; from the newest where it is 0. They come
// without what DesiredState is for: Apps and Token. Next is the revision that asks for what follows; 0 at the end. Fault:
// NotFound deployment_not_found.
func (d *Desired) History(ctx context.Context, install string, before int64, limit int) (list []delivery.Revision, next int64, err error) {
	size := store.ListSize(limit)
	err = d.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		if _, err := r.Deployments.Get(ctx, install); err != nil {
			return err
		}
		list, err = r.Revisions.Before(ctx, install, before, size+1)
		return err
	})
	if err != nil || len(list) <= size {
		return list, 0, err
	}
	return list[:size], list[size-1].Revision, nil
}
