package access

import (
	"context"
	"errors"

	"berth/domain/authorization"
	"berth/ports/store"
)

// SweepAccess shortens the change logs of tenants to Settings.KeepRevisions, at most Settings.SweepBatch in a run, the
// next of which goes on where this one ended; and it forgets pairing codes and join tokens that expired
// Settings.SecretRetention ago, at most Settings.SweepBatch in one transaction. Any number of replicas may run it at once;
// doing it twice changes nothing.
func (a *Access) SweepAccess(ctx context.Context) error {
	return errors.Join(a.compact(ctx), a.forgetSecrets(ctx))
}

func (a *Access) compact(ctx context.Context) error {
	a.sweep.mu.Lock()
	defer a.sweep.mu.Unlock()
	var page []*authorization.Tenant
	err := a.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		page, err = r.Tenants.List(ctx, store.Page{After: a.sweep.after, Limit: store.MaxPage})
		return err
	})
	if err != nil {
		return err
	}
	left := a.Settings.SweepBatch
	var failed []error // one tenant that fails keeps no other from its turn
	for _, t := range page {
		if left == 0 {
			return errors.Join(failed...)
		}
		a.sweep.after = t.ID()
		if a.overlong(t) {
			failed = append(failed, a.compactOne(ctx, t.ID()))
			left--
		}
	}
	if len(page) < store.MaxPage {
		a.sweep.after = ""
	}
	return errors.Join(failed...)
}

func (a *Access) overlong(t *authorization.Tenant) bool {
	r := t.Record()
	return r.Revision-r.Floor > int64(a.Settings.KeepRevisions)
}

// compactOne is no change of the authorization: revision and audit stay as they are.
func (a *Access) compactOne(ctx context.Context, id string) error {
	return a.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		t, err := r.Tenants.Get(ctx, id)
		if err != nil {
			return err
		}
		if !a.overlong(t) {
			return nil
		}
		floor := t.Compact(a.Settings.KeepRevisions)
		if err := r.Tenants.Save(ctx, t); err != nil {
			return err
		}
		return r.Changes.Drop(ctx, id, floor)
	})
}

func (a *Access) forgetSecrets(ctx context.Context) error {
	before := a.Clock.Now().Add(-a.Settings.SecretRetention)
	for {
		var swept int
		err := a.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) (err error) {
			swept, err = r.Secrets.Sweep(ctx, before, a.Settings.SweepBatch)
			return err
		})
		if err != nil || swept < a.Settings.SweepBatch {
			return err
		}
	}
}
