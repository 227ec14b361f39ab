package access_test

import (
	"context"
	"reflect"
	"sync/atomic"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// dump is all that this package keeps in a store.
type dump struct {
	Tenants    []authorization.TenantRecord
	Principals []authorization.PrincipalRecord
	Handles    []authorization.HandleRecord
	Routes     []authorization.RouteRecord
	Changes    []authorization.Change
	Placements []placement.Record
	Queue      []placement.Waiting
	Secrets    []identity.OneTimeSecretRecord
	Audit      audit.Head
}

// dump reads it; the secrets are those of the given keys.
func (w *world) dump(secrets ...string) dump {
	w.t.Helper()
	var d dump
	page := store.Page{Limit: store.MaxPage}
	w.view(func(ctx context.Context, r *store.Roles) (err error) {
		d = dump{}
		tenants, err := r.Tenants.List(ctx, page)
		w.must(err)
		for _, t := range tenants {
			d.tenant(ctx, w, r, t)
		}
		for _, key := range secrets {
			s, err := r.Secrets.Get(ctx, key)
			w.must(err)
			d.Secrets = append(d.Secrets, s.Record())
		}
		d.Queue, err = r.Queue.Oldest(ctx, "", store.MaxPage)
		w.must(err)
		d.Audit, err = r.Audit.Head(ctx)
		return err
	})
	return d
}

func (d *dump) tenant(ctx context.Context, w *world, r *store.Roles, t *authorization.Tenant) {
	w.t.Helper()
	page := store.Page{Limit: store.MaxPage}
	d.Tenants = append(d.Tenants, t.Record())
	principals, err := r.Principals.OfTenant(ctx, t.ID(), page)
	w.must(err)
	for _, p := range principals {
		d.Principals = append(d.Principals, p.Record())
	}
	handles, err := r.Handles.OfTenant(ctx, t.ID())
	w.must(err)
	for _, h := range handles {
		d.Handles = append(d.Handles, h.Record())
	}
	routes, err := r.Routes.OfTenant(ctx, t.ID(), page)
	w.must(err)
	for _, route := range routes {
		d.Routes = append(d.Routes, route.Record())
	}
	changes, err := r.Changes.Since(ctx, t.ID(), 0, 1_000_000)
	w.must(err)
	d.Changes = append(d.Changes, changes...)
	if p, err := r.Placements.Get(ctx, t.ID()); err == nil {
		d.Placements = append(d.Placements, p.Record())
	}
}

// same fails the test unless nothing at all changed, and nothing was hinted at.
func (w *world) same(before dump, what string, secrets ...string) {
	w.t.Helper()
	if after := w.dump(secrets...); !reflect.DeepEqual(before, after) {
		w.t.Fatalf("%s changed something:\n%+v\n%+v", what, before, after)
	}
	if topics := w.hints.Took(); len(topics) > 0 {
		w.t.Fatalf("%s hinted at %v", what, topics)
	}
}

// failing is a store in whose transactions the nth write fails, counted over all roles.
type failing struct {
	store.Store
	at     int64
	writes atomic.Int64
}

func (f *failing) write() error {
	if f.writes.Add(1) == f.at {
		return fault.New(fault.Unavailable, "store_unavailable", "this write fails")
	}
	return nil
}

func (f *failing) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	return f.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		c := *r
		c.Tenants = failingTenants{r.Tenants, f}
		c.Principals = failingPrincipals{r.Principals, f}
		c.Handles = failingHandles{r.Handles, f}
		c.Changes = failingChanges{r.Changes, f}
		c.Secrets = failingSecrets{r.Secrets, f}
		c.Audit = failingAudit{r.Audit, f}
		return fn(ctx, &c)
	})
}

// after lets a write happen and then fail, so that what it wrote has to be undone.
func after(err error, f *failing) error {
	if err != nil {
		return err
	}
	return f.write()
}

type failingTenants struct {
	store.Tenants
	f *failing
}

func (t failingTenants) Save(ctx context.Context, v *authorization.Tenant) error {
	return after(t.Tenants.Save(ctx, v), t.f)
}

type failingPrincipals struct {
	store.Principals
	f *failing
}

func (p failingPrincipals) Create(ctx context.Context, v *authorization.Principal) error {
	return after(p.Principals.Create(ctx, v), p.f)
}

func (p failingPrincipals) Save(ctx context.Context, v *authorization.Principal) error {
	return after(p.Principals.Save(ctx, v), p.f)
}

type failingHandles struct {
	store.Handles
	f *failing
}

func (h failingHandles) Add(ctx context.Context, v []*authorization.Handle) error {
	return after(h.Handles.Add(ctx, v), h.f)
}

func (h failingHandles) Save(ctx context.Context, v []*authorization.Handle) error {
	return after(h.Handles.Save(ctx, v), h.f)
}

type failingChanges struct {
	store.Changes
	f *failing
}

func (c failingChanges) Append(ctx context.Context, tenant string, v []authorization.Change) error {
	return after(c.Changes.Append(ctx, tenant, v), c.f)
}

type failingSecrets struct {
	store.OneTimeSecrets
	f *failing
}

func (s failingSecrets) Save(ctx context.Context, v *identity.OneTimeSecret) error {
	return after(s.OneTimeSecrets.Save(ctx, v), s.f)
}

type failingAudit struct {
	store.Audit
	f *failing
}

func (a failingAudit) Append(ctx context.Context, d audit.Draft) error {
	return after(a.Audit.Append(ctx, d), a.f)
}
